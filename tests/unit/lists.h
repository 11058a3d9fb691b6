#pragma once
#include "actors/shard/list/cache.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

/* For tests of data that readers cache between lists: a database, a reader's view of it, and an empty
 * cache. */
static struct scratch     s;
static struct view       *reader;
static struct arena       arena;
static struct list_cache *kept;
static uint64_t           state; /* state of the random numbers */

static void begin(void)
{
	scratch_open(&s);
	arena = (struct arena){0};
	state = chance_begin();
	cr_assert_eq(list_cache_new(&kept, 384 << 20), OK);
	cr_assert_eq(db_reader_open(s.db, &arena, &reader), OK);
}

static void end(void)
{
	list_cache_free(&kept);
	db_reader_close(&reader);
	arena_free(&arena);
	scratch_close(&s);
}
