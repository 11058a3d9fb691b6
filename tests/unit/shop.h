/* A store under test, its directory and a copy of it, and short functions for them. Criterion runs each test
 * in its own process, so these can be static. */
#pragma once
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "store/record.h"
#include "store/segment.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static struct test_dir     test_dir, copy;
static struct store       *store;
static struct store_report report;

static inline void begin(void)
{
	test_dir_make(&test_dir);
}

static inline void end(void)
{
	store_close(&store);
	test_dir_remove(&test_dir);
	test_dir_remove(&copy);
}

static inline void open_ok(const struct test_dir *at)
{
	cr_assert_eq(shop_open(at, true, &store, &report), OK, "%s", report.what);
}

static inline void expect_refused(const struct test_dir *at, bool may_format, enum err want, const char *what)
{
	struct test_dir before;
	test_dir_copy(at, &before);
	cr_expect_eq(shop_open(at, may_format, &store, &report), want);
	cr_expect_null(store);
	cr_expect(strstr(report.what, what), "%s instead of %s", report.what, what);
	cr_expect(test_dir_same(at, &before), "a file was changed");
	test_dir_remove(&before);
}

static inline struct span key_of(unsigned i)
{
	static uint8_t key[4];
	put_be32(key, i);
	return span_of(key, sizeof key);
}

static inline void save(unsigned i, size_t size)
{
	shop_save(store, TABLE_BODY, key_of(i), filler(i, size));
}

static inline bool holds(unsigned i, size_t size)
{
	struct span got;
	enum err    err = shop_get(store, TABLE_BODY, key_of(i), &got);
	return !err && span_equal(got, filler(i, size));
}

static inline bool is_missing(unsigned i)
{
	struct span got;
	return shop_get(store, TABLE_BODY, key_of(i), &got) == ERR_NOT_FOUND;
}

/* The journal's records of a directory by seq: the segment's name, the offset and the size. */
struct found {
	char   name[64];
	size_t at, size;
};

static inline struct found find_record(const struct test_dir *in, uint64_t seq)
{
	struct found found = {.size = 0};
	for (unsigned segment = 1; !found.size; segment++) {
		char          name[SEGMENT_NAME];
		struct record record;
		uint8_t      *bytes;
		segment_name(segment, name);
		snprintf(found.name, sizeof found.name, "journal/%s", name);
		size_t size = file_read(in, found.name, &bytes);
		for (size_t at = RECORD_ALIGN; at < size && !found.size; at += RECORD_ALIGN) {
			if (record_open(span_of(bytes + at, size - at), &record) || record.seq != seq)
				continue;
			found.at = at;
			found.size = RECORD_HEAD + record.writes.size;
		}
		free(bytes);
	}
	return found;
}
