/* An account's counts: an absent row means zero; a move decrements one count and increments another. */
#include "tests/unit/support.h"

#include "schemas/wallet/kind.h"
#include "store/keys.h"
#include "store/tally.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(tally);
static const struct account_id account = {{'a'}}, neighbour = {{'b'}};

static struct tally get(struct account_id of)
{
	struct tally tally;
	cr_assert_eq(tally_get(s.view, of, &tally), OK);
	return tally;
}

static void put(struct tally tally)
{
	cr_assert_eq(tally_put(s.view, account, &tally), OK);
	scratch_save(&s);
}

Test(tally, without_passes_is_zeros)
{
	struct tally zeros = {0}, got = get(account);
	cr_expect(!memcmp(&got, &zeros, sizeof got));
	cr_expect_eq(tally_live(&got), 0);
}

Test(tally, reads_as_it_was_put_by_account)
{
	struct tally want = {.made = UINT32_MAX, .counts = {1, 2, 3, 4, 5, 6, UINT32_MAX - 1}}, zeros = {0},
	             got;
	put(want);
	got = get(account);
	cr_expect(!memcmp(&got, &want, sizeof got));
	cr_expect_eq(tally_live(&got), 1 + 2 + 3 + 4 + 5 + 6);
	got = get(neighbour);
	cr_expect(!memcmp(&got, &zeros, sizeof got));
}

/* Every pair of states and deletions: exactly the two counts change, and none if they are the same. */
Test(tally, moves_one_pass_between_any_two_counts)
{
	for (unsigned from = 0; from < 2 * HOT_COUNT_DELETED; from++)
		for (unsigned to = 0; to < 2 * HOT_COUNT_DELETED; to++) {
			struct tally want = {.made = 9, .counts = {5, 5, 5, 5, 5, 5, 5}}, got;
			struct hot   before = {.status = (uint8_t)(from % HOT_COUNT_DELETED)}, after = before;
			after.status = (uint8_t)(to % HOT_COUNT_DELETED);
			before.flags = from < HOT_COUNT_DELETED ? HOT_REINSTALL_BLOCKED : HOT_DELETED;
			after.flags = to < HOT_COUNT_DELETED ? 0 : HOT_DELETED | HOT_REINSTALL_BLOCKED;
			put(want);
			want.counts[from < HOT_COUNT_DELETED ? from : (unsigned)HOT_COUNT_DELETED]--;
			want.counts[to < HOT_COUNT_DELETED ? to : (unsigned)HOT_COUNT_DELETED]++;
			cr_assert_eq(tally_move(s.view, account, &before, &after), OK);
			cr_expect_eq(s.staged.count,
			             memcmp(want.counts, (uint32_t[7]){5, 5, 5, 5, 5, 5, 5}, 28) ? 1 : 0);
			got = get(account);
			cr_expect(!memcmp(&got, &want, sizeof got), "from %u to %u", from, to);
			scratch_save(&s);
		}
}

Test(tally, that_would_fall_below_zero_is_damage)
{
	struct hot before = {.status = 2}, after = {.status = 3};
	cr_expect_eq(tally_move(s.view, account, &before, &after), ERR_DAMAGED);
	put((struct tally){.made = 1, .counts = {1, 1, 0, 1, 1, 1, 1}});
	cr_expect_eq(tally_move(s.view, account, &before, &after), ERR_DAMAGED);
	cr_expect_eq(s.staged.count, 0);
}

/* What wallets have is counted apart, and a row without any is as short as one that never had any. */
Test(tally, counts_registrations_and_what_wallets_have)
{
	struct row_key key = key_account(account);
	struct tally   want = {.made = 7, .width = 3};
	struct span    value;
	put(want);
	cr_assert_eq(tally_registrations(s.view, account, 1), OK);
	cr_assert_eq(tally_registrations(s.view, account, 1), OK);
	cr_assert_eq(tally_installed(s.view, account, WALLET_GOOGLE, 1), OK);
	cr_assert_eq(tally_installed(s.view, account, WALLET_APPLE, 1), OK);
	cr_assert_eq(tally_installed(s.view, account, WALLET_APPLE, 1), OK);
	scratch_save(&s);
	want.registrations = want.installed[WALLET_APPLE] = 2;
	want.installed[WALLET_GOOGLE] = 1;
	struct tally got = get(account);
	cr_expect(!memcmp(&got, &want, sizeof got));
	cr_assert_eq(tally_installed(s.view, account, WALLET_APPLE, 0), OK);
	cr_expect_eq(s.staged.count, 0);
	cr_assert_eq(tally_registrations(s.view, account, -2), OK);
	cr_assert_eq(tally_installed(s.view, account, WALLET_APPLE, -2), OK);
	cr_assert_eq(tally_installed(s.view, account, WALLET_GOOGLE, -2), OK); /* none are left */
	scratch_save(&s);
	want = (struct tally){.made = 7, .width = 3};
	got = get(account);
	cr_expect(!memcmp(&got, &want, sizeof got));
	cr_assert_eq(view_get(s.view, TABLE_TALLY, key_span(&key), &value), OK);
	cr_expect_eq(value.size, 36);
}

Test(tally, of_another_form_is_damage)
{
	struct row_key key = key_account(account);
	struct tally   tally;
	cr_assert_eq(write_put(&s.staged, TABLE_TALLY, key_span(&key), filler(1, 31)), OK);
	cr_expect_eq(tally_get(s.view, account, &tally), ERR_DAMAGED);
	cr_assert_eq(write_put(&s.staged, TABLE_TALLY, key_span(&key), filler(1, 33)), OK);
	cr_expect_eq(tally_get(s.view, account, &tally), ERR_DAMAGED);
}
