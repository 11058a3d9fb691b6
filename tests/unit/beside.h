/* The same writes twice: into memory, as late tables take them, and into rows. With a reader of the first. Criterion runs each
 * test in its own process, so these can be static. */
#pragma once
#include "store/cells_inside.h"

#include "store/db_inside.h"
#include "store/keys.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

static struct scratch s, plain;
static struct cells  *cells; /* of `s` */
static struct view   *reader;
static struct arena   arena;
static uint64_t       state; /* of chance */

static inline void begin(void)
{
	scratch_open(&s);
	scratch_open(&plain);
	cr_assert_eq(cells_open(&cells), OK);
	db_use_cells(s.db, cells);
	cr_assert_eq(db_reader_open(s.db, &arena, &reader), OK);
	db_reader_use_cells(reader);
	state = chance_begin();
}

static inline void end(void)
{
	db_reader_close(&reader);
	scratch_close(&s);
	scratch_close(&plain);
	cells_close(&cells);
	arena_free(&arena);
}

static inline struct account_id account_of(unsigned index)
{
	return (struct account_id){
	    {(uint8_t)('c' - index)}}; /* keys are in another order than accounts come */
}

static inline void save(void)
{
	scratch_save(&s);
	scratch_save(&plain);
}

static inline void commit(void)
{
	scratch_commit(&s);
	scratch_commit(&plain);
}

/* Of what has been written to LMDB. */
static inline void expect_tables_equal(enum table table)
{
	struct raw_row a, b;
	enum err       err = view_raw_from(s.view, table, span_of(NULL, 0), &a);
	cr_assert_eq(view_raw_from(plain.view, table, span_of(NULL, 0), &b), err);
	while (!err) {
		cr_assert(span_equal(a.key, b.key) && span_equal(a.stored, b.stored));
		err = view_raw_next(s.view, table, &a);
		cr_assert_eq(view_raw_next(plain.view, table, &b), err);
	}
}
