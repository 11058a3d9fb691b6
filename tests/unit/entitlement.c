/* Rows of entitlements and redemptions: they read as they were written; rows that the program does not write
 * are damage; and walks return the documented rows of one pass in order. */
#include "tests/unit/support.h"

#include "store/entitlement.h"
#include "store/expiry.h"
#include "store/redemption.h"
#include "store/reward.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(entitlement);
static const struct account_id account = {{'a'}}, other = {{'b'}};
enum { PASS = 7, FAMILY = 3 };

static struct entitlement some(uint8_t tag, uint32_t family, int64_t expires)
{
	return (struct entitlement){.pass = PASS,
	                            .id = {{tag, 9}},
	                            .source = SOURCE_AUTOMATIC,
	                            .family = family,
	                            .version = 2,
	                            .allowance = 5,
	                            .remaining = 5,
	                            .expires = {expires},
	                            .created = {100},
	                            .updated = {100}};
}

static void store(struct account_id to, struct entitlement row)
{
	cr_assert_eq(entitlement_add(s.view, to, &row), OK);
	scratch_save(&s);
}

static void change(struct entitlement before, struct entitlement after)
{
	cr_assert_eq(entitlement_change(s.view, account, &before, &after), OK);
	scratch_save(&s);
}

static bool same(const struct entitlement *a, const struct entitlement *b)
{
	uint8_t one[ENTITLEMENT_BYTES], two[ENTITLEMENT_BYTES];
	entitlement_write(a, one);
	entitlement_write(b, two);
	return a->pass == b->pass && uuid_same(a->id, b->id) && !memcmp(one, two, sizeof one);
}

static struct reward_tally tally(void)
{
	struct reward_tally tally;
	cr_assert_eq(reward_tally_get(s.view, account, &tally), OK);
	return tally;
}

static void expect_counts(uint64_t all, uint64_t redeemed, uint64_t replaced, uint64_t open)
{
	struct reward_tally got = tally();
	cr_expect(got.entitlements == all && got.redeemed == redeemed && got.replaced == replaced &&
	          got.open == open);
}

/* The ids that open_next() returns for one pass at `now`, as a string of tags. */
static const char *available(uint32_t family, int64_t now)
{
	static char             tags[64];
	struct entitlement_open row = {.pass = PASS, .family = family};
	size_t                  size = 0;
	enum err                err;
	while (!(err = entitlement_open_next(s.view, account, (wall_us){now}, &row)))
		tags[size++] = (char)row.id.b[0];
	cr_assert_eq(err, ERR_NOT_FOUND);
	tags[size] = 0;
	return tags;
}

Test(entitlement, rows_are_as_they_are_described)
{
	static const uint8_t want[ENTITLEMENT_BYTES] = {1,   0, 1, 0, 3, 0, 0, 0, 2,   0, 0, 0, 5, 0, 0, 0,
	                                                5,   0, 0, 0, 0, 0, 0, 0, 0,   2, 0, 0, 0, 0, 0, 0,
	                                                100, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0};
	struct entitlement   row = some('x', FAMILY, 512), got = {.pass = PASS, .id = row.id};
	uint8_t              value[ENTITLEMENT_BYTES];
	entitlement_write(&row, value);
	cr_expect_arr_eq(value, want, sizeof want);
	cr_assert_eq(entitlement_read(span_of(value, sizeof value), &got), OK);
	cr_expect(same(&row, &got));
	static const struct {
		size_t  at;
		uint8_t byte;
	} wrong[] = {{0, 0}, {0, 2}, {1, 3}, {2, 2}, {3, 1}, {20, 1}, {31, 0x80}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		uint8_t kept = value[wrong[i].at];
		value[wrong[i].at] = wrong[i].byte;
		cr_expect_eq(entitlement_read(span_of(value, sizeof value), &got), ERR_DAMAGED, "row %zu", i);
		value[wrong[i].at] = kept;
	}
	cr_expect_eq(entitlement_read(span_of(value, sizeof value - 1), &got), ERR_DAMAGED);
}

Test(entitlement, expires_at_its_end_to_the_microsecond)
{
	struct entitlement row = some('x', FAMILY, 512);
	cr_expect(entitlement_is_available(&row, (wall_us){511}) &&
	          !entitlement_is_past(&row, (wall_us){511}));
	cr_expect(!entitlement_is_available(&row, (wall_us){512}) &&
	          entitlement_is_past(&row, (wall_us){512}));
	row.state = ENTITLEMENT_REDEEMED;
	cr_expect(!entitlement_is_available(&row, (wall_us){511}) &&
	          !entitlement_is_past(&row, (wall_us){512}));
	row = some('x', FAMILY, 0);
	cr_expect(entitlement_is_available(&row, (wall_us){INT64_MAX}));
}

Test(entitlement, is_counted_from_creation_to_end)
{
	uint32_t           held;
	uint64_t           passed;
	struct entitlement row = some('x', FAMILY, 512), got, after;
	store(account, row);
	cr_assert_eq(entitlement_get(s.view, account, PASS, row.id, &got), OK);
	cr_expect(same(&row, &got));
	cr_expect_eq(entitlement_get(s.view, account, PASS + 1, row.id, &got), ERR_NOT_FOUND);
	cr_expect_eq(entitlement_get(s.view, other, PASS, row.id, &got), ERR_NOT_FOUND);
	expect_counts(1, 0, 0, 1);
	cr_expect_str_eq(available(FAMILY, 511), "x");
	cr_expect(!expiry_passed(s.view, account, (wall_us){512}, &passed) && passed == 1);
	after = row;
	after.remaining = 2;
	after.updated.v = 200;
	change(row, after);
	expect_counts(1, 0, 0, 1);
	cr_expect_str_eq(available(FAMILY, 511), "x");
	row = after;
	after.remaining = 0;
	after.state = ENTITLEMENT_REDEEMED;
	change(row, after);
	expect_counts(1, 1, 0, 0);
	cr_expect_str_eq(available(FAMILY, 511), "");
	cr_expect(!expiry_passed(s.view, account, (wall_us){512}, &passed) && passed == 0);
	cr_expect(!entitlement_held(s.view, account, PASS, FAMILY, &held) && held == 1,
	          "it was assigned before");
	store(account, row = some('y', FAMILY, 0));
	after = row;
	after.state = ENTITLEMENT_REPLACED;
	change(row, after);
	expect_counts(2, 1, 1, 0);
	cr_expect(!entitlement_held(s.view, account, PASS, FAMILY, &held) && held == 2);
	cr_expect(!entitlement_held(s.view, account, PASS, FAMILY + 1, &held) && held == 0);
}

Test(entitlement, expired_ones_are_skipped)
{
	store(account, some('a', 1, 300));
	store(account, some('b', 1, 200));
	store(account, some('c', 1, 0));
	store(account, some('d', 2, 200));
	store(account, some('e', 4, 201));
	store(account, some('f', UINT32_MAX, 0));
	store(other, some('g', 1, 0));
	struct entitlement stranger = some('h', 1, 0);
	stranger.pass = PASS + 1;
	store(account, stranger);
	cr_expect_str_eq(available(0, 199), "bacdef");
	cr_expect_str_eq(available(0, 200), "acef");
	cr_expect_str_eq(available(0, 201), "acf");
	cr_expect_str_eq(available(0, 300), "cf");
	cr_expect_str_eq(available(2, 199), "def", "from that family on");
	cr_expect_str_eq(available(3, 200), "ef");
	cr_expect_str_eq(available(0, INT64_MAX - 2), "cf");
}

Test(entitlement, a_pass_is_walked_in_the_order_of_ids)
{
	struct entitlement got = {.pass = PASS};
	store(account, some('c', 1, 0));
	store(account, some('a', 2, 0));
	store(account, some('b', 1, 9));
	store(other, some('a', 1, 0));
	struct entitlement stranger = some('d', 1, 0);
	stranger.pass = PASS + 1;
	store(account, stranger);
	for (const char *tag = "abc"; *tag; tag++) {
		cr_assert_eq(entitlement_next(s.view, account, &got), OK);
		cr_expect(got.id.b[0] == *tag && got.pass == PASS);
	}
	cr_expect_eq(entitlement_next(s.view, account, &got), ERR_NOT_FOUND);
}

Test(entitlement, a_command_sees_what_it_has_staged_itself)
{
	struct entitlement      row = some('x', FAMILY, 512), after = row;
	struct entitlement_open open = {.pass = PASS};
	unsigned                at = 0;
	store(account, some('w', FAMILY, 0));
	cr_expect_eq(entitlement_open_staged(s.view, account, &at, &open), ERR_NOT_FOUND);
	cr_assert_eq(entitlement_add(s.view, account, &row), OK);
	at = 0;
	cr_assert_eq(entitlement_open_staged(s.view, account, &at, &open), OK);
	cr_expect(open.id.b[0] == 'x' && open.family == FAMILY && open.expires.v == 512);
	cr_expect_eq(entitlement_open_staged(s.view, account, &at, &open), ERR_NOT_FOUND);
	after.state = ENTITLEMENT_REPLACED;
	cr_assert_eq(entitlement_change(s.view, account, &row, &after), OK);
	at = 0;
	cr_expect_eq(entitlement_open_staged(s.view, account, &at, &open), ERR_NOT_FOUND);
	expect_counts(2, 0, 1, 1);
}

Test(entitlement, redemptions_are_stored_completely)
{
	static char       note[8000];
	struct redemption got, row = {.pass = PASS,
	                              .entitlement = {{'e'}},
	                              .id = {{'r'}},
	                              .amount = 3,
	                              .remaining = 2,
	                              .created = {200},
	                              .context = span_str("till 4"),
	                              .note = span_of(note, sizeof note)};
	memset(note, 'n', sizeof note);
	cr_assert_eq(redemption_put(s.view, account, &row), OK);
	scratch_save(&s);
	got = (struct redemption){.pass = PASS, .entitlement = row.entitlement, .id = row.id};
	cr_assert_eq(redemption_get(s.view, account, &got), OK);
	cr_expect(got.amount == 3 && got.remaining == 2 && got.created.v == 200);
	cr_expect(span_is(got.context, "till 4") && span_equal(got.note, row.note));
	got.pass++;
	cr_expect_eq(redemption_get(s.view, account, &got), ERR_NOT_FOUND);
	uint8_t value[REDEMPTION_HEAD_BYTES + 3] = {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2};
	cr_expect_eq(redemption_read(span_of(value, sizeof value), &got), OK);
	cr_expect_eq(redemption_read(span_of(value, sizeof value - 1), &got), ERR_DAMAGED);
	value[4] = 0;
	cr_expect_eq(redemption_read(span_of(value, sizeof value), &got), ERR_DAMAGED, "of nothing");
	value[4] = 1;
	value[0] = 2;
	cr_expect_eq(redemption_read(span_of(value, sizeof value), &got), ERR_DAMAGED);
}
