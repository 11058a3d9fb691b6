/* store/wallet_credential.h: rows are read as they were put, in the order of kinds and numbers, and none of another account. */
#include "tests/unit/support.h"

#include "schemas/limits.h"
#include "store/meta.h"
#include "store/wallet_credential.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(wallet_credential);
static const struct account_id account = {{'b'}}, before = {{'a'}}, after = {{'c'}};

static struct wallet_credential some(struct account_id of, enum wallet_kind kind, const char *name)
{
	return (struct wallet_credential){.account = of,
	                                  .kind = kind,
	                                  .number = wallet_number(span_str(name)),
	                                  .generation = 1,
	                                  .name = span_str(name),
	                                  .sealed = filler(of.b[0], 3000)};
}

static void put(struct account_id of, enum wallet_kind kind, const char *name)
{
	struct wallet_credential row = some(of, kind, name);
	cr_assert_eq(wallet_credential_put(s.view, &row), OK);
	cr_assert_eq(wallet_current_put(s.view, of, kind, row.number), OK);
	scratch_save(&s);
}

Test(wallet_credential, a_name_has_one_number)
{
	uint64_t number = wallet_number(span_str("pass.example"));
	cr_expect(number && number == wallet_number(span_str("pass.example")));
	cr_expect_neq(number, wallet_number(span_str("pass.example2")));
}

Test(wallet_credential, the_last_one_put_makes_new_passes)
{
	struct wallet_credential row;
	cr_expect_eq(wallet_current_get(s.view, account, WALLET_APPLE, &row), ERR_NOT_FOUND);
	put(before, WALLET_APPLE, "pass.before");
	put(after, WALLET_APPLE, "pass.after");
	cr_expect_eq(wallet_current_get(s.view, account, WALLET_APPLE, &row), ERR_NOT_FOUND);
	put(account, WALLET_APPLE, "pass.one");
	put(account, WALLET_APPLE, "pass.two");
	cr_assert_eq(wallet_current_get(s.view, account, WALLET_APPLE, &row), OK);
	cr_expect(span_is(row.name, "pass.two") && row.sealed.size == 3000 && row.kind == WALLET_APPLE);
	cr_expect_eq(wallet_current_get(s.view, account, WALLET_GOOGLE, &row), ERR_NOT_FOUND);
	cr_assert_eq(
	    wallet_credential_get(s.view, account, WALLET_APPLE, wallet_number(span_str("pass.one")), &row),
	    OK);
	cr_expect(span_is(row.name, "pass.one"));
	cr_expect_eq(wallet_credential_get(s.view, account, WALLET_APPLE, 0, &row), ERR_NOT_FOUND,
	             "which is not a credential");
}

static unsigned count(struct account_id of)
{
	struct wallet_credential row = {.number = 0};
	struct buffer            room = {0};
	uint64_t                 last = 0;
	unsigned                 found = 0;
	enum err                 err;
	while (!(err = wallet_credential_next(s.view, of, &room, &row))) {
		cr_expect(row.number > last || row.kind == WALLET_GOOGLE);
		cr_expect_eq(row.sealed.size, 3000);
		last = row.number;
		found++;
	}
	cr_expect_eq(err, ERR_NOT_FOUND);
	buffer_free(&room);
	return found;
}

Test(wallet_credential, a_removal_takes_all_of_one_kind)
{
	put(before, WALLET_GOOGLE, "1");
	put(after, WALLET_APPLE, "pass.after");
	cr_expect_eq(wallet_credential_del_all(s.view, account, WALLET_APPLE), ERR_NOT_FOUND);
	for (unsigned i = 0; i < WALLET_CREDENTIALS_MAX; i++) {
		char name[] = "pass.??";
		name[5] = (char)('a' + i / 8);
		name[6] = (char)('a' + i % 8);
		put(account, WALLET_APPLE, name);
	}
	put(account, WALLET_GOOGLE, "2");
	cr_expect_eq(count(account), WALLET_CREDENTIALS_MAX + 1);
	cr_assert_eq(wallet_credential_del_all(s.view, account, WALLET_APPLE), OK);
	scratch_save(&s);
	cr_expect_eq(count(account), 1);
	struct wallet_credential row;
	cr_expect_eq(wallet_current_get(s.view, account, WALLET_APPLE, &row), ERR_NOT_FOUND);
	cr_expect_eq(wallet_current_get(s.view, account, WALLET_GOOGLE, &row), OK);
	cr_expect(count(before) == 1 && count(after) == 1);
}

Test(wallet_credential, reports_damage)
{
	struct wallet_credential row = some(account, WALLET_APPLE, "pass.one"), read;
	struct buffer            value = {0};
	uint64_t                 number;
	wallet_credential_write(&row, &value);
	cr_expect_eq(wallet_credential_read(buffer_span(&value), &read), OK);
	for (size_t size = 0; size < 70; size++)
		cr_expect_eq(wallet_credential_read(span_of(value.at, size), &read), ERR_DAMAGED);
	cr_expect_eq(wallet_credential_read(span_of(value.at, value.size - 1), &read), ERR_DAMAGED);
	value.at[0] = 2;
	cr_expect_eq(wallet_credential_read(buffer_span(&value), &read), ERR_DAMAGED, "another version");
	value.at[0] = 1;
	memset(value.at + 2, 0, 4);
	cr_expect_eq(wallet_credential_read(buffer_span(&value), &read), ERR_DAMAGED, "of no generation");
	cr_expect_eq(wallet_current_read(span_of("\1\1\0\0\0\0\0\0\0", 9), &number), OK);
	cr_expect_eq(wallet_current_read(span_of("\1\0\0\0\0\0\0\0\0", 9), &number), ERR_DAMAGED);
	cr_expect_eq(wallet_current_read(span_of("\2\1\0\0\0\0\0\0\0", 9), &number), ERR_DAMAGED);
	cr_expect_eq(wallet_current_read(span_of("\1\1\0\0\0\0\0\0", 8), &number), ERR_DAMAGED);
	buffer_free(&value);
}

Test(wallet_credential, the_mark_is_kept)
{
	unsigned kinds = 9;
	cr_expect(!wallets_get(s.view, &kinds) && kinds == 0);
	cr_assert_eq(wallets_put(s.view, WALLET_BITS_ALL), OK);
	scratch_save(&s);
	cr_expect(!wallets_get(s.view, &kinds) && kinds == WALLET_BITS_ALL);
}

Test(wallet_credential, words_of_the_setting)
{
	static const char *const words[] = {"off", "apple", "google", "on"};
	unsigned                 on;
	for (unsigned i = 0; i < 4; i++) {
		cr_expect_str_eq(wallet_setting_text(i), words[i]);
		cr_expect(wallet_setting_read(span_str(words[i]), &on) && on == i);
	}
	cr_expect(!wallet_setting_read(span_str("On"), &on) && !wallet_setting_read(span_str(""), &on));
}
