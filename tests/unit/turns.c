/* Turns of accounts: an account that owes time waits while others have calls, alternates with other debtors,
 * and never waits for ever. */
#include "actors/shard/engine/turns.h"
#include "schemas/fields.h"

#include <criterion/criterion.h>

static struct turns            turns;
static mono_us                 now = {1000000};
static const struct account_id big = {{'b'}}, other = {{'o'}}, third = {{'t'}};
static msgpack_object          none[ARGS_MAX];

static void end(void)
{
	turns_close(&turns);
}

TestSuite(turns, .fini = end);

static void keep(struct account_id account, uint64_t id)
{
	struct peer peer = {.size = 1};
	struct call call = {
	    .message = MSG_ACCOUNT_SHOW, .id = id, .has_account = true, .account = account, .args = none};
	cr_assert(turns_defer(&turns, account, now));
	cr_assert_eq(turns_keep(&turns, &peer, &call), OK);
}

/* The id of the call that is taken; 0: none. */
static uint64_t take(void)
{
	struct turn *turn = turns_take(&turns, now);
	uint64_t     id = turn ? turn->kept.call.id : 0;
	turn_free(&turn);
	return id;
}

static void hear(void)
{
	turns_heard(&turns, big, now);
	turns_heard(&turns, other, now);
}

Test(turns, light_calls_owe_no_time)
{
	hear();
	for (unsigned i = 0; i < 1000; i++)
		turns_charge(&turns, big, (dur_us){TURN_HEAVY_US - 1}, now);
	cr_expect(!turns_defer(&turns, big, now) && turns.debtor_count == 0);
}

Test(turns, a_heavy_account_waits_and_others_do_not)
{
	hear();
	turns_charge(&turns, big, (dur_us){1000}, now);
	cr_expect(turns_defer(&turns, big, now) && !turns_defer(&turns, other, now));
	keep(big, 1);
	keep(big, 2);
	cr_expect_eq(take(), 0);
	cr_expect_eq(turns_due(&turns, now).v, 1000 * TURN_SHARE);
	now.v += 1000 * TURN_SHARE;
	cr_expect_eq(turns_due(&turns, now).v, 0);
	cr_expect(turns_defer(&turns, big, now), "calls of an account stay in order");
	cr_expect_eq(take(), 1);
	turns_charge(&turns, big, (dur_us){1000}, now);
	cr_expect_eq(take(), 0, "it owes again");
	now.v += 1000 * TURN_SHARE;
	cr_expect_eq(take(), 2);
	cr_expect_eq(turns_due(&turns, now).v, INT64_MAX);
	cr_expect_not(turns_defer(&turns, big, now));
}

Test(turns, an_account_alone_does_not_wait)
{
	turns_heard(&turns, big, now);
	turns_charge(&turns, big, (dur_us){1000000}, now);
	cr_expect_not(turns_defer(&turns, big, now), "there is no other");
	turns_heard(&turns, other, now);
	keep(big, 1);
	cr_expect_eq(take(), 0);
	now.v += TURN_OTHERS_US + 1;
	turns_heard(&turns, big, now);
	cr_expect_eq(take(), 1, "the other account has no calls");
}

Test(turns, a_calls_wait_is_limited)
{
	hear();
	for (unsigned i = 0; i < 100; i++)
		turns_charge(&turns, big, (dur_us){1000000}, now);
	keep(big, 1);
	cr_expect_eq(turns_due(&turns, now).v, TURN_OWED_US);
}

Test(turns, debtors_take_turns_and_share_the_time)
{
	hear();
	turns_charge(&turns, big, (dur_us){1000}, now);
	turns_charge(&turns, third, (dur_us){1000}, now);
	for (uint64_t i = 1; i <= 3; i++)
		keep(big, i);
	for (uint64_t i = 11; i <= 13; i++)
		keep(third, i);
	now.v += 1000 * TURN_SHARE;
	hear();
	cr_expect_eq(take(), 1);
	cr_expect_eq(take(), 2, "the third owes twice, since two are heavy");
	now.v += 1000 * TURN_SHARE;
	hear();
	uint64_t first = take(), second = take(), last = take();
	cr_expect(first + second == 3 + 11 && (last == 12), "%lu %lu %lu", first, second, last);
}

Test(turns, debtors_beyond_the_table_count_as_light)
{
	struct account_id account = {{'x'}};
	hear();
	for (unsigned i = 0; i <= DEBTORS_MAX; i++) {
		account.b[9] = (uint8_t)i;
		turns_charge(&turns, account, (dur_us){1000}, now);
	}
	cr_expect_not(turns_defer(&turns, account, now));
	account.b[9] = 1;
	keep(account, 7);
	now.v += TURN_OWED_US;
	hear();
	account.b[9] = DEBTORS_MAX;
	turns_charge(&turns, account, (dur_us){1000}, now);
	cr_expect(turns_defer(&turns, account, now), "accounts without debt have freed their places");
	cr_expect_eq(turns.debtor_count, 2);
	cr_expect_eq(take(), 7, "waiting calls are not lost");
}

Test(turns, large_commands_cost_what_the_disk_takes)
{
	const size_t  small = TURN_SMALL_BYTES, large = 1 << 20, rest = large - small;
	const int64_t first = (int64_t)small * TURN_BYTE_NS;
	cr_expect_eq(turns_cost_of_bytes(large, 0).v, (int64_t)large * TURN_BYTE_NS / 1000,
	             "nothing is known of the disk");
	cr_expect_eq(turns_cost_of_bytes(large, 1).v, (int64_t)large * TURN_BYTE_NS / 1000, "a quick disk");
	cr_expect_eq(turns_cost_of_bytes(large, 100).v, (first + (int64_t)rest * 200) / 1000,
	             "10 MB/s, written twice");
	cr_expect_eq(turns_cost_of_bytes(large, 38000).v, (first + (int64_t)rest * TURN_BYTE_NS_MAX) / 1000,
	             "it stalled");
	cr_expect_eq(turns_cost_of_bytes(small, 38000).v, first / 1000, "small commands cost no more");
}
