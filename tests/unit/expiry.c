/* Counting expirations by time spans: at any moment the sum equals a count over all entitlements, with few
 * rows read. */
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "store/expiry.h"
#include "store/keys.h"

#include <criterion/criterion.h>
#include <stdio.h>

SCRATCH_SUITE(expiry);
static const struct account_id account = {{'a'}}, before = {{'Z'}}, after = {{'b'}};

static void add(struct account_id to, int64_t at)
{
	cr_assert_eq(expiry_add(s.view, to, (wall_us){at}), OK);
	scratch_save(&s);
}

static void take(int64_t at)
{
	cr_assert_eq(expiry_take(s.view, account, (wall_us){at}), OK);
	scratch_save(&s);
}

static uint64_t passed(int64_t now)
{
	uint64_t count;
	cr_assert_eq(expiry_passed(s.view, account, (wall_us){now}, &count), OK);
	return count;
}

static size_t rows_of(struct account_id of)
{
	struct row_key  key = key_account(of);
	struct view_row row;
	size_t          count = 0;
	enum err        err = view_from(s.view, TABLE_EXPIRY, key_span(&key), &row);
	for (; !err && key_has_prefix(row.key, key_span(&key)); count++)
		err = view_next(s.view, TABLE_EXPIRY, &row);
	return count;
}

Test(expiry, an_end_counts_from_its_microsecond)
{
	static const int64_t ends[] = {1,
	                               2,
	                               2047,
	                               2048,
	                               2049,
	                               INT64_C(1) << 22,
	                               INT64_C(1) << 44,
	                               INT64_C(1795000000000000),
	                               INT64_MAX - 1};
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		cr_expect_eq(passed(ends[i]), i, "before %zu is there", i);
		add(account, ends[i]);
		cr_expect_eq(passed(ends[i] - 1), i, "a microsecond before %zu", i);
		cr_expect_eq(passed(ends[i]), i + 1, "at %zu", i);
	}
	cr_expect_eq(passed(0), 0);
}

Test(expiry, other_accounts_are_not_counted)
{
	for (int64_t at = 1; at < 5000; at += 7) {
		add(before, at);
		add(after, at);
	}
	cr_expect_eq(passed(1 << 30), 0);
	add(account, 3000);
	cr_expect_eq(passed(2999), 0);
	cr_expect_eq(passed(3000), 1);
}

Test(expiry, a_removed_end_leaves_no_row)
{
	for (int64_t at = 1; at < 100000; at += 999)
		add(account, at);
	add(account, 1);
	take(1);
	cr_expect_eq(passed(1), 1);
	for (int64_t at = 1; at < 100000; at += 999)
		take(at);
	cr_expect_eq(rows_of(account), 0);
	cr_expect_eq(expiry_take(s.view, account, (wall_us){1}), ERR_DAMAGED, "it was not counted");
}

/* Near now, near each other and far away, like windows and fixed ends. */
static int64_t some_time(uint64_t *state)
{
	static const unsigned bits[] = {3, 9, 12, 20, 30, 43, 50};
	int64_t               present = INT64_C(1795000000000000);
	return present + (int64_t)(chance(state) >> (64 - bits[chance_below(state, 7)]));
}

enum { ENDS = 700, LOOKS = 3000 };

static uint64_t naive(const int64_t *ends, unsigned count, int64_t now)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < count; i++)
		sum += ends[i] <= now;
	return sum;
}

Test(expiry, the_sum_equals_a_count_of_all)
{
	uint64_t state = chance_begin();
	int64_t  ends[ENDS];
	unsigned count = 0;
	for (unsigned step = 0; step < LOOKS; step++) {
		if (count == ENDS || (count && chance_below(&state, 3) == 0)) {
			unsigned which = chance_below(&state, count);
			take(ends[which]);
			ends[which] = ends[--count];
		} else {
			add(account, ends[count++] = some_time(&state));
		}
		int64_t now = chance_below(&state, 2) && count
		                  ? ends[chance_below(&state, count)] - 1 + chance_below(&state, 3)
		                  : some_time(&state);
		cr_assert_eq(passed(now), naive(ends, count, now), "step %u, now %lld", step, (long long)now);
	}
}

/* The cost is limited by the fan-out of the levels, not by the number of expirations. */
Test(expiry, few_rows_are_read_for_any_number)
{
	int64_t  present = INT64_C(1795000000000000);
	uint64_t count = 0;
	for (int64_t at = present - 40000; at < present; at++, count++) {
		cr_assert_eq(expiry_add(s.view, account, (wall_us){at}), OK);
		if (at % 16 == 0) scratch_save(&s);
	}
	scratch_save(&s);
	cr_expect_eq(passed(present), count);
	/* With the lowest level alone each expiration would be one row. Less than one span of it is read, and
	 * 20 rows of the next level. */
	cr_expect_gt(rows_of(account), count);
	uint64_t       from = expiry_span((wall_us){present + 1}, 1) << EXPIRY_SHIFT;
	struct row_key key = key_account(account);
	key.bytes[key.size++] = 0;
	put_be64(key.bytes + key.size, from);
	key.size += 8;
	struct view_row row;
	unsigned        read = 0;
	enum err        err = view_from(s.view, TABLE_EXPIRY, key_span(&key), &row);
	for (; !err && row.key.at[10] == 0; read++)
		err = view_next(s.view, TABLE_EXPIRY, &row);
	cr_expect_lt(read, 1u << EXPIRY_SHIFT);
}
