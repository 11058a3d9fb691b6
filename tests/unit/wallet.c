/* Which credential serves an account: its own before the operator's; and until when. */
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/wallet.h"
#include "store/meta.h"
#include "tests/unit/args.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(wallet);
static const struct account_id account = {{'b'}}, other = {{'c'}};

static struct wallet_credential some(struct account_id of, const char *name)
{
	return (struct wallet_credential){.account = of,
	                                  .kind = WALLET_APPLE,
	                                  .number = wallet_number(span_str(name)),
	                                  .generation = 1,
	                                  .not_after = {100},
	                                  .issuer_not_after = {200},
	                                  .name = span_str(name)};
}

static void put(struct account_id of, const char *name)
{
	struct wallet_credential row = some(of, name);
	cr_assert_eq(wallet_credential_put(s.view, &row), OK);
	cr_assert_eq(wallet_current_put(s.view, of, row.kind, row.number), OK);
	scratch_save(&s);
}

/* The name of the one that makes new passes, and whether it is the operator's. */
static void expect_now(struct account_id of, const char *name, bool operators)
{
	struct wallet_credential row;
	enum err                 err = wallet_credential_now(s.view, of, WALLET_APPLE, &row);
	cr_assert_eq(err, name ? OK : ERR_NOT_FOUND);
	if (!name) return;
	cr_expect(span_is(row.name, name), "%.*s, not %s", (int)row.name.size, (const char *)row.name.at,
	          name);
	cr_expect_eq(account_same(row.account, wallet_operator), operators);
}

Test(wallet, its_own_come_before_the_operators)
{
	expect_now(account, NULL, false);
	put(wallet_operator, "pass.default");
	expect_now(account, "pass.default", true);
	put(account, "pass.own");
	expect_now(account, "pass.own", false);
	expect_now(other, "pass.default", true);
	cr_assert_eq(wallet_credential_del_all(s.view, account, WALLET_APPLE), OK);
	scratch_save(&s);
	expect_now(account, "pass.default", true);
}

Test(wallet, what_was_made_before_stays_with_its_pass_type)
{
	struct wallet_credential row;
	uint64_t                 old = wallet_number(span_str("pass.default"));
	put(wallet_operator, "pass.default");
	put(account, "pass.own");
	put(account, "pass.new");
	cr_assert_eq(wallet_credential_of(s.view, account, WALLET_APPLE, old, &row), OK);
	cr_expect(span_is(row.name, "pass.default"));
	cr_assert_eq(
	    wallet_credential_of(s.view, account, WALLET_APPLE, wallet_number(span_str("pass.own")), &row),
	    OK);
	cr_expect(span_is(row.name, "pass.own"));
	put(account, "pass.default");
	cr_assert_eq(wallet_credential_of(s.view, account, WALLET_APPLE, old, &row), OK);
	cr_expect_eq(row.account.b[0], 'b', "its own, of the same pass type");
	cr_expect_eq(
	    wallet_credential_of(s.view, other, WALLET_APPLE, wallet_number(span_str("pass.own")), &row),
	    ERR_NOT_FOUND);
	cr_expect_eq(wallet_credential_of(s.view, account, WALLET_GOOGLE, old, &row), ERR_NOT_FOUND);
}

Test(wallet, it_ends_with_the_first_of_its_certificates)
{
	struct wallet_credential row = some(account, "pass.a");
	cr_expect_eq(wallet_credential_end(&row).v, 100);
	cr_expect(!wallet_credential_ended(&row, (wall_us){99}));
	cr_expect(wallet_credential_ended(&row, (wall_us){100}));
	row.issuer_not_after.v = 50;
	cr_expect_eq(wallet_credential_end(&row).v, 50);
	row.kind = WALLET_GOOGLE;
	cr_expect(!wallet_credential_ended(&row, (wall_us){INT64_MAX - 1}));
	row.rests_until.v = 70;
	cr_expect(wallet_credential_rests(&row, (wall_us){69}) &&
	          !wallet_credential_rests(&row, (wall_us){70}));
}

Test(wallet, is_on_unless_it_is_switched_off)
{
	struct account_row row = {.suspended = true};
	cr_expect(wallet_is_on(&row, WALLET_APPLE) && wallet_is_on(&row, WALLET_GOOGLE));
	row.wallets_off = WALLET_BIT(WALLET_GOOGLE);
	cr_expect(wallet_is_on(&row, WALLET_APPLE) && !wallet_is_on(&row, WALLET_GOOGLE));
}

static void mark(int64_t kinds)
{
	msgpack_object args[ARGS_WALLET_MARK] = {value_integer((uint64_t)kinds)};
	struct request request = {.view = s.view, .args = args};
	struct outcome outcome = {.payload = NULL};
	cr_assert_eq(on_WALLET_MARK(&request, &outcome), OK);
}

Test(wallet, a_mark_is_never_taken_back)
{
	unsigned kinds;
	mark(WALLET_BIT(WALLET_APPLE));
	scratch_save(&s);
	mark(WALLET_BIT(WALLET_APPLE));
	cr_expect_eq(s.staged.count, 0, "the same again writes nothing");
	mark(WALLET_BIT(WALLET_GOOGLE));
	scratch_save(&s);
	cr_expect(!wallets_get(s.view, &kinds) && kinds == WALLET_BITS_ALL);
}

/* Resting -------------------------------------------------------------------------------------------------- */

static void put_resting(struct account_id of, const char *name)
{
	struct wallet_credential row = some(of, name);
	row.not_after.v = INT64_MAX;
	row.issuer_not_after.v = INT64_MAX;
	row.rests_until.v = 1000;
	row.rest_s = 60;
	row.last_error = span_str("403 BadCertificate");
	cr_assert_eq(wallet_credential_put(s.view, &row), OK);
	cr_assert_eq(wallet_current_put(s.view, of, row.kind, row.number), OK);
	scratch_save(&s);
}

static bool rests(struct account_id of, const char *name)
{
	struct wallet_credential row;
	cr_assert_eq(wallet_credential_get(s.view, of, WALLET_APPLE, wallet_number(span_str(name)), &row),
	             OK);
	cr_expect_eq(row.rests_until.v != 0, row.last_error.size != 0);
	return row.rest_s;
}

/* As `wallet resume`: on the account's shard, and of the operator's if that says so. */
static void resume(struct account_id of)
{
	struct account account_of = {.id = of};
	struct buffer  payload = {0};
	struct request request = {.view = s.view, .account = &account_of};
	struct outcome outcome = {.payload = &payload};
	cr_assert_eq(on_WALLET_RESUME(&request, &outcome), OK);
	cr_assert(payload.size == 1 && (payload.at[0] == 0xc3 || payload.at[0] == 0xc2), "a boolean");
	scratch_save(&s);
	request.view = s.view;
	if (payload.at[0] == 0xc3) cr_assert_eq(on_WALLET_RESUME_DEFAULT(&request, &outcome), OK);
	scratch_save(&s);
	buffer_free(&payload);
}

Test(wallet, a_resumed_account_has_no_credential_that_rests)
{
	put_resting(wallet_operator, "pass.default");
	put_resting(account, "pass.old");
	put_resting(account, "pass.default");
	put_resting(other, "pass.new");
	resume(account);
	cr_expect(!rests(account, "pass.old") && !rests(account, "pass.default"));
	cr_expect(rests(wallet_operator, "pass.default"), "the account has its own of this name");
	cr_expect(rests(other, "pass.new"));
	resume(other);
	cr_expect(!rests(wallet_operator, "pass.default"), "its phones may have passes of that type");
	put_resting(wallet_operator, "pass.default");
	cr_assert_eq(wallet_credential_del_all(s.view, account, WALLET_APPLE), OK);
	scratch_save(&s);
	resume(account);
	cr_expect(!rests(wallet_operator, "pass.default"));
	resume(account);
	cr_expect_eq(s.staged.count, 0);
}

Test(wallet, a_resting_credential_says_so)
{
	struct wallet_credential row;
	struct buffer            out = {0};
	msgpack_packer           pk = buffer_packer(&out);
	put_resting(account, "pass.a");
	cr_assert_eq(wallet_current_get(s.view, account, WALLET_APPLE, &row), OK);
	wallet_credential_pack(&row, (wall_us){999}, &pk);
	cr_expect(memmem(out.at, out.size, "resting", 7) &&
	          memmem(out.at, out.size, "403 BadCertificate", 18));
	buffer_clear(&out);
	wallet_credential_pack(&row, (wall_us){1000}, &pk);
	cr_expect(!memmem(out.at, out.size, "resting", 7) &&
	          memmem(out.at, out.size, "403 BadCertificate", 18));
	buffer_free(&out);
}
