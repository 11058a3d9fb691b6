/* A scratch store whose late tables lie in memory, with readers of it. Criterion runs each test in its own process, so these
 * can be static. */
#pragma once
#include "store/cells_inside.h"

#include "store/db_inside.h"
#include "store/keys.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

static struct scratch s;
static struct cells  *cells; /* of `s` */
static struct arena   arena; /* of the readers */
static uint64_t       state; /* of chance */

static inline void open_cells(struct view **readers, unsigned count)
{
	scratch_open(&s);
	cr_assert_eq(cells_open(&cells), OK);
	db_use_cells(s.db, cells);
	for (unsigned i = 0; i < count; i++) {
		cr_assert_eq(db_reader_open(s.db, &arena, &readers[i]), OK);
		db_reader_use_cells(readers[i]);
	}
	state = chance_begin();
}

static inline void close_cells(struct view **readers, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		db_reader_close(&readers[i]);
	scratch_close(&s);
	cells_close(&cells);
	arena_free(&arena);
}
