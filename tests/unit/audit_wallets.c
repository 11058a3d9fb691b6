/* The audit of credentials for wallets: each rule, broken alone in an otherwise sound shop, is reported. */
#include "tests/unit/audit_look.h"

#include "schemas/limits.h"
#include "store/wallet_credential.h"

TestSuite(audit_wallets, .init = make_shop, .fini = end);

static struct wallet_credential some(struct account_id of, const char *name)
{
	return (struct wallet_credential){.account = of,
	                                  .kind = WALLET_APPLE,
	                                  .number = wallet_number(span_str(name)),
	                                  .generation = 1,
	                                  .not_before = {10},
	                                  .not_after = {20},
	                                  .name = span_str(name)};
}

static void store(struct wallet_credential row)
{
	must(!wallet_credential_put(s.view, &row));
	must(!wallet_current_put(s.view, row.account, row.kind, row.number));
	scratch_save(&s);
}

static struct row_key key_of(uint8_t kind, uint64_t number)
{
	struct row_key key = key_account(account);
	key.bytes[key.size++] = kind;
	put_be64(key.bytes + key.size, number);
	key.size += 8;
	return key;
}

static void break_form(void)
{
	store(some(account, "pass.a"));
	put(TABLE_WALLET_CREDENTIAL, key_of(1, wallet_number(span_str("pass.a"))), span_str("x"));
}
static void break_current_form(void)
{
	store(some(account, "pass.a"));
	put(TABLE_WALLET_CREDENTIAL, key_of(1, 0), span_str("x"));
}
static void break_key(void)
{
	put(TABLE_WALLET_CREDENTIAL, key_of(3, 1), span_str("x"));
}
static void break_number(void)
{
	struct wallet_credential row = some(account, "pass.a");
	row.number++;
	store(row);
}
static void break_times(void)
{
	struct wallet_credential row = some(account, "pass.a");
	row.put.v = -1;
	store(row);
}
static void break_order(void)
{
	struct wallet_credential row = some(account, "pass.a");
	row.not_after.v = 5;
	store(row);
}
static void break_no_current(void)
{
	store(some(account, "pass.a"));
	del(TABLE_WALLET_CREDENTIAL, key_of(1, 0));
}
static void break_lost_current(void)
{
	store(some(account, "pass.a"));
	del(TABLE_WALLET_CREDENTIAL, key_of(1, wallet_number(span_str("pass.a"))));
}
static void break_limit(void)
{
	for (unsigned i = 0; i <= WALLET_CREDENTIALS_MAX; i++) {
		char name[] = "pass.??";
		name[5] = (char)('a' + i / 8);
		name[6] = (char)('a' + i % 8);
		store(some(account, name));
	}
}
static void break_account(void)
{
	store(some(nobody, "pass.a"));
}
static void break_operator(void)
{
	struct wallet_credential row = some(wallet_operator, "pass.a");
	row.put.v = -1;
	store(row);
}
static void break_operator_strays(void)
{
	put(TABLE_SUBSCRIPTION, key_u32(wallet_operator, 1), span_str("x"));
}

#define OPERATOR "account acc_aaaaaaaaaaaaaaaa: "
static const struct breakage breakages[] = {
    B(form, "table wallet_credential, " ACCOUNT "a row of a wrong form, of apple"),
    B(current_form, "a row of a wrong form, of apple"),
    B(key, ACCOUNT "a key of a wrong form"),
    B(number, "under a number that is not its own"),
    B(times, "a row of apple has impossible times"),
    B(order, "a row of apple ends before it begins"),
    B(no_current, "no credential of apple makes new passes"),
    B(lost_current, "no credential of apple makes new passes"),
    B(limit, "33 credentials of apple, beyond the limit"),
    B(account, "table wallet_credential, " NOBODY "rows of an account that does not exist"),
    B(operator, "table wallet_credential, " OPERATOR "a row of apple has impossible times"),
    B(operator_strays, "table subscription, " OPERATOR "rows of an account that does not exist"),
};

Test(audit_wallets, reports_each_broken_rule)
{
	try_breakages(breakages, sizeof breakages / sizeof *breakages);
}

Test(audit_wallets, finds_no_fault_in_those_of_accounts_and_operator)
{
	store(some(account, "pass.a"));
	store(some(account, "pass.b"));
	store(some(account, "pass.a"));
	store(some(wallet_operator, "pass.a"));
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
}
