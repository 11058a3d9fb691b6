/* The ledger: rows of every kind read as they were written, and the newest row of an account is found among
 * those of its neighbours. */
#include "tests/unit/support.h"

#include "store/keys.h"
#include "store/ledger.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(ledger);
static const struct account_id first = {{0}}, middle = {{'m'}},
                               last = {{255, 255, 255, 255, 255, 255, 255, 255, 255, 255}};

static const enum ledger_what kinds[] = {
#define W(id, NAME, text) LEDGER_##NAME,
#include "store/ledger.def"
#undef W
};

static uint64_t newest(struct account_id account)
{
	uint64_t seq = 77;
	cr_assert_eq(ledger_last(s.view, account, &seq), OK);
	return seq;
}

Test(ledger, rows_of_every_kind_read_as_they_were_put)
{
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct ledger_row got, want = {.number = UINT32_MAX - i,
		                               .what = kinds[i],
		                               .status = 5,
		                               .flags = 3,
		                               .field = (uint8_t)(200 + i),
		                               .at = {INT64_MIN + i},
		                               .previous = UINT64_MAX - i,
		                               .delta = -(INT64_C(1) << 53),
		                               .balance = INT64_MAX};
		cr_assert_eq(ledger_put(s.view, middle, i + 1, &want), OK);
		scratch_save(&s);
		cr_assert_eq(ledger_get(s.view, middle, i + 1, &got), OK);
		if (kinds[i] == LEDGER_SCAN) /* it has other members there */
			want = (struct ledger_row){.number = want.number, .what = want.what, .at = want.at};
		cr_expect(got.number == want.number && got.what == want.what && got.status == want.status &&
		          got.flags == want.flags && got.field == want.field);
		cr_expect(got.at.v == want.at.v && got.previous == want.previous);
		bool counted = kinds[i] == LEDGER_LOYALTY ||
		               kinds[i] == LEDGER_RULE; /* other kinds have no delta */
		cr_expect_eq(got.delta, counted ? want.delta : 0);
		cr_expect_eq(got.balance, counted ? want.balance : 0);
	}
}

Test(ledger, has_a_name_for_every_kind)
{
	static const char *const want[] = {"created",     "issued",    "creation_failed", "installed",
	                                   "uninstalled", "unblocked", "deactivated",     "deleted",
	                                   "loyalty",     "rule",      "erased",          "edited",
	                                   "message",     "scan"};
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		cr_expect_eq((unsigned)kinds[i], i + 1); /* on disk */
		cr_expect_str_eq(ledger_what_text(kinds[i]), want[i]);
	}
	cr_expect_str_eq(ledger_what_text((enum ledger_what)0), "unknown");
	cr_expect_str_eq(ledger_what_text((enum ledger_what)255), "unknown");
}

Test(ledger, finds_the_newest_row_of_each_account)
{
	const struct account_id accounts[] = {first, middle, last};
	struct ledger_row       row = {.what = LEDGER_LOYALTY};
	uint64_t                want[3] = {0};
	for (unsigned i = 0; i < 3; i++)
		cr_expect_eq(newest(accounts[i]), 0);
	for (unsigned step = 0; step < 900; step++) {
		unsigned i = step * 7 % 3;
		cr_assert_eq(ledger_put(s.view, accounts[i], ++want[i], &row), OK);
		scratch_save(&s);
		if (step % 11) continue;
		for (unsigned k = 0; k < 3; k++)
			cr_assert_eq(newest(accounts[k]), want[k], "step %u", step);
	}
	cr_expect_eq(newest((struct account_id){{'m', 0, 0, 0, 0, 0, 0, 0, 0, 1}}), 0);
	cr_expect_eq(newest((struct account_id){{'l'}}), 0);
}

Test(ledger, finds_rows_by_account_and_seq_only)
{
	struct ledger_row row = {.what = LEDGER_ISSUED}, got;
	cr_assert_eq(ledger_put(s.view, middle, 256, &row), OK);
	scratch_save(&s);
	cr_expect_eq(ledger_get(s.view, middle, 255, &got), ERR_NOT_FOUND);
	cr_expect_eq(ledger_get(s.view, middle, 1, &got), ERR_NOT_FOUND);
	cr_expect_eq(ledger_get(s.view, first, 256, &got), ERR_NOT_FOUND);
	cr_expect_eq(newest(middle), 256);
}

Test(ledger, rows_of_another_form_are_damage)
{
	struct row_key      key = key_u64(middle, 1);
	struct ledger_row   row;
	static const size_t sizes[] = {0, 23, 25, 39, 41};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		cr_assert_eq(write_put(&s.staged, TABLE_LEDGER, key_span(&key), filler(1, sizes[i])), OK);
		cr_expect_eq(ledger_get(s.view, middle, 1, &row), ERR_DAMAGED, "%zu bytes", sizes[i]);
	}
}
