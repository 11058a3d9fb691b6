/* The same writes twice: into memory, as late tables take them, and into rows. With a reader of the first. Criterion runs each
 * test in its own process, so these can be static. */
#pragma once
#include "tests/unit/in_memory.h"

static struct scratch plain;
static struct view   *reader;

static inline void begin(void)
{
	scratch_open(&plain);
	open_cells(&reader, 1);
}

static inline void end(void)
{
	close_cells(&reader, 1);
	scratch_close(&plain);
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
