/* Staged writes: the result of staging one over another, and the resulting value of a row. */
#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <signal.h>

static struct arena  arena;
static struct writes writes;

static void begin(void)
{
	writes = writes_none(&arena);
}

static void end(void)
{
	arena_free(&arena);
}

TestSuite(writes, .init = begin, .fini = end);

static const struct span key = {(const uint8_t *)"key", 3};

static void put(const char *value)
{
	cr_assert_eq(write_put(&writes, TABLE_HOT, key, span_str(value)), OK);
}

static void patch(uint16_t offset, const char *value)
{
	cr_assert_eq(write_patch(&writes, TABLE_HOT, key, offset, span_str(value)), OK);
}

static void del(void)
{
	cr_assert_eq(write_del(&writes, TABLE_HOT, key), OK);
}

/* The row after the writes over `base` (NULL: absent); NULL: deleted. */
static bool becomes(const char *base, const char *want)
{
	struct span         got, under = base ? span_str(base) : span_of(NULL, 0);
	const struct write *write = writes_find(&writes, TABLE_HOT, key);
	cr_assert(write && writes.count == 1);
	enum err err = write_over(&writes, write, under, &got);
	return want ? err == OK && span_is(got, want) : err == ERR_NOT_FOUND;
}

Test(writes, a_put_replaces_any_value)
{
	put("value");
	cr_expect(becomes(NULL, "value"));
	cr_expect(becomes("another", "value"));
}

Test(writes, a_patch_changes_its_bytes_only)
{
	patch(2, "XY");
	cr_expect(becomes("abcdef", "abXYef"));
	cr_expect(becomes("abcd", "abXY"));
	cr_expect(becomes(NULL, NULL));
	cr_expect_eq(writes.rows[0].kind, WRITE_PATCH);
}

Test(writes, a_patch_over_a_put_is_a_put)
{
	put("abcdef");
	patch(0, "12");
	patch(4, "56");
	cr_expect_eq(writes.rows[0].kind, WRITE_PUT);
	cr_expect_eq(writes.rows[0].patch_count, 0);
	cr_expect(becomes("zzz", "12cd56"));
}

Test(writes, a_put_replaces_patches)
{
	patch(0, "1");
	patch(3, "4");
	put("abcdef");
	cr_expect(becomes("......", "abcdef"));
	patch(5, "!");
	cr_expect(becomes("......", "abcde!"));
	cr_expect_eq(writes.rows[0].patch_count, 0);
}

Test(writes, patching_the_same_bytes_again_needs_no_second_patch)
{
	for (unsigned i = 0; i < 100; i++) {
		patch(1, i % 2 ? "xx" : "yy");
		patch(3, "z");
	}
	cr_expect_eq(writes.rows[0].patch_count, 2);
	cr_expect(becomes("abcdef", "axxzef"));
}

Test(writes, del_and_put_alternate)
{
	put("first");
	del();
	cr_expect(becomes("base", NULL));
	cr_expect_eq(writes.rows[0].value.size, 0);
	put("second");
	cr_expect(becomes("base", "second"));
	patch(0, "S");
	cr_expect(becomes("base", "Second"));
	begin();
	patch(0, "x");
	del();
	cr_expect(becomes("base", NULL));
	cr_expect_eq(writes.rows[0].patch_count, 0);
}

Test(writes, are_found_by_table_and_whole_key)
{
	put("value");
	cr_expect_eq(writes_find(&writes, TABLE_HOT, key), &writes.rows[0]);
	cr_expect_null(writes_find(&writes, TABLE_BODY, key));
	cr_expect_null(writes_find(&writes, TABLE_HOT, span_str("ke")));
	cr_expect_null(writes_find(&writes, TABLE_HOT, span_str("keyy")));
	cr_expect_null(writes_find(&writes, TABLE_HOT, span_str("kez")));
	cr_assert_eq(write_put(&writes, TABLE_BODY, key, span_str("other")), OK);
	cr_expect_eq(writes.count, 2);
	cr_expect(span_is(writes_find(&writes, TABLE_HOT, key)->value, "value"));
	cr_expect(span_is(writes_find(&writes, TABLE_BODY, key)->value, "other"));
}

Test(writes, keep_copies_of_keys_and_values)
{
	char name[] = "key", value[] = "value", bytes[] = "V";
	cr_assert_eq(write_put(&writes, TABLE_HOT, span_str(name), span_str(value)), OK);
	cr_assert_eq(write_patch(&writes, TABLE_HOT, span_str(name), 0, span_str(bytes)), OK);
	cr_assert_eq(write_patch(&writes, TABLE_TALLY, span_str(name), 0, span_str(bytes)), OK);
	memset(name, '?', 3);
	memset(value, '?', 5);
	memset(bytes, '?', 1);
	cr_expect(span_is(writes.rows[0].value, "Value") && span_is(writes.rows[0].key, "key"));
	cr_expect_eq(writes.rows[1].patches[0].bytes[0], 'V');
}

Test(writes, beyond_their_bounds_are_refused)
{
	static const uint8_t bytes[2 * PASS_STORED_BYTES_MAX + 1];
	static const struct {
		enum table table;
		size_t     key, value;
		enum err   want;
	} rows[] = {
	    {TABLE_HOT, 0, 1, ERR_TOO_LARGE},
	    {TABLE_HOT, 1, 0, OK},
	    {TABLE_HOT, KEY_BYTES_MAX, ROW_BYTES_MAX, OK},
	    {TABLE_HOT, KEY_BYTES_MAX + 1, 1, ERR_TOO_LARGE},
	    {TABLE_HOT, 1, ROW_BYTES_MAX + 1, ERR_TOO_LARGE},
	    {TABLE_BODY, 1, 2 * PASS_STORED_BYTES_MAX, OK},
	    {TABLE_BODY, 1, 2 * PASS_STORED_BYTES_MAX + 1, ERR_TOO_LARGE},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		begin();
		enum err got = write_put(&writes, rows[i].table, span_of(bytes, rows[i].key),
		                         span_of(bytes, rows[i].value));
		cr_expect_eq(got, rows[i].want, "row %u", i);
		cr_expect_eq(writes.count, rows[i].want ? 0 : 1, "row %u", i);
	}
	begin();
	cr_expect_eq(write_del(&writes, TABLE_HOT, span_of(bytes, KEY_BYTES_MAX + 1)), ERR_TOO_LARGE);
	cr_expect_eq(write_patch(&writes, TABLE_HOT, span_of(bytes, 0), 0, span_str("x")), ERR_TOO_LARGE);
}

/* Random writes of every kind to one row, compared with plain bytes. */
Test(writes, equal_a_naive_model)
{
	uint64_t state = chance_begin();
	for (unsigned round = 0; round < 2000; round++) {
		uint8_t     base[16], want[16];
		bool        there = true, put_last = false;
		struct span got;
		memcpy(base, filler(chance(&state), 16).at, 16);
		memcpy(want, base, 16);
		begin();
		for (unsigned step = 0; step < 10; step++) {
			unsigned    what = chance_below(&state, 4), at = chance_below(&state, 8) * 2;
			struct span bytes = filler(chance(&state), 16);
			if (what == 0) {
				cr_assert_eq(write_put(&writes, TABLE_HOT, key, bytes), OK);
				memcpy(want, bytes.at, 16);
				there = put_last = true;
			} else if (what == 1) {
				del();
				there = put_last = false;
			} else if (there || put_last) {
				cr_assert_eq(
				    write_patch(&writes, TABLE_HOT, key, (uint16_t)at, span_of(bytes.at, 2)),
				    OK);
				memcpy(want + at, bytes.at, 2);
			}
		}
		if (writes.count == 0) continue;
		enum err err = write_over(&writes, &writes.rows[0], span_of(base, 16), &got);
		cr_assert_eq(err, there ? OK : ERR_NOT_FOUND, "round %u", round);
		if (there) cr_assert(span_equal(got, span_of(want, 16)), "round %u", round);
		arena_reset(&arena);
	}
}

/* A handler that does one of these is a bug. */
Test(writes, a_patch_of_what_was_deleted_is_our_bug, .signal = SIGABRT)
{
	del();
	patch(0, "x");
}

Test(writes, a_patch_beyond_the_end_of_a_put_is_our_bug, .signal = SIGABRT)
{
	put("abc");
	patch(3, "x");
}

Test(writes, a_patch_beyond_the_end_of_a_row_is_our_bug, .signal = SIGABRT)
{
	patch(3, "x");
	(void)becomes("abc", "abcx");
}

Test(writes, each_of_many_rows_is_found_once)
{
	for (unsigned round = 0; round < 2; round++)
		for (uint16_t i = 0; i < 1000; i++)
			cr_assert_eq(write_put(&writes, i % 2 ? TABLE_HOT : TABLE_BODY, span_of(&i, sizeof i),
			                       span_str(round ? "again" : "first")),
			             OK);
	cr_expect_eq(writes.count, 1000);
	for (uint16_t i = 0; i < 1000; i++) {
		const struct write *write = writes_find(&writes, i % 2 ? TABLE_HOT : TABLE_BODY,
		                                        span_of(&i, sizeof i));
		cr_assert(write && span_is(write->value, "again"), "row %u", i);
		cr_assert_null(writes_find(&writes, i % 2 ? TABLE_BODY : TABLE_HOT, span_of(&i, sizeof i)));
	}
}

Test(writes, one_row_too_many_is_our_bug, .signal = SIGABRT)
{
	for (uint16_t i = 0; i < STAGED_WRITES_MAX; i++)
		if (write_del(&writes, TABLE_HOT, span_of(&i, sizeof i))) return;
	put("x");
}
