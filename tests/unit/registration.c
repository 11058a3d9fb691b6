/* store/registration.h and store/wallet_due.h: rows are found by pass and by device, and none of another account, pass, device or
 * credential; a removal takes all of a pass in steps. */
#include "tests/unit/support.h"

#include "schemas/limits.h"
#include "store/registration.h"
#include "store/wallet_due.h"

#include <criterion/criterion.h>

SCRATCH_SUITE(registration);
static const struct account_id account = {{'b'}}, before = {{'a'}}, after = {{'c'}};

static struct registration some(uint32_t pass_number, const char *device, uint64_t credential)
{
	struct registration row = {.pass_number = pass_number,
	                           .credential = credential,
	                           .since = {pass_number},
	                           .push_token = span_str("00ff")};
	registration_device(span_str(device), row.device);
	return row;
}

static void put(struct account_id of, uint32_t pass_number, const char *device, uint64_t credential)
{
	struct registration row = some(pass_number, device, credential);
	cr_assert_eq(registration_put(s.view, of, &row), OK);
	scratch_save(&s);
}

static unsigned count_of_pass(struct account_id of, uint32_t pass_number)
{
	struct registration row = {.pass_number = pass_number};
	unsigned            count = 0;
	enum err            err = registration_first(s.view, of, &row);
	for (; !err; err = registration_next(s.view, of, &row), count++)
		cr_expect_eq(row.pass_number, pass_number);
	cr_assert_eq(err, ERR_NOT_FOUND);
	return count;
}

static unsigned count_of_device(struct account_id of, const char *device, uint64_t credential)
{
	struct registration row = some(0, device, credential);
	unsigned            count = 0;
	enum err            err = registration_device_first(s.view, of, &row);
	for (; !err; err = registration_device_next(s.view, of, &row))
		count++;
	cr_assert_eq(err, ERR_NOT_FOUND);
	return count;
}

static void make_some(void)
{
	put(before, 7, "phone", 3);
	put(account, 6, "phone", 3);
	put(account, 7, "phone", 3);
	put(account, 7, "phone", 4);
	put(account, 7, "watch", 3);
	put(account, 8, "phone", 3);
	put(after, 7, "phone", 3);
}

Test(registration, is_found_by_its_pass)
{
	make_some();
	cr_expect_eq(count_of_pass(account, 5), 0);
	cr_expect_eq(count_of_pass(account, 6), 1);
	cr_expect_eq(count_of_pass(account, 7), 3);
	cr_expect_eq(count_of_pass(account, 8), 1);
	cr_expect_eq(count_of_pass(account, 9), 0);
	cr_expect_eq(count_of_pass(after, 7), 1);
}

Test(registration, is_found_by_its_device_and_credential)
{
	make_some();
	cr_expect_eq(count_of_device(account, "phone", 3), 3);
	cr_expect_eq(count_of_device(account, "phone", 4), 1);
	cr_expect_eq(count_of_device(account, "phone", 5), 0);
	cr_expect_eq(count_of_device(account, "watch", 3), 1);
	cr_expect_eq(count_of_device(before, "phone", 3), 1);
	cr_expect_eq(count_of_device(before, "watch", 3), 0);
}

Test(registration, is_read_as_it_was_put)
{
	struct registration row = some(7, "phone", 3), got = some(7, "phone", 3);
	got.since.v = 0;
	got.push_token = span_of(NULL, 0);
	cr_expect_eq(registration_get(s.view, account, &got), ERR_NOT_FOUND);
	make_some();
	cr_assert_eq(registration_get(s.view, account, &got), OK);
	cr_expect_eq(got.since.v, row.since.v);
	cr_expect(span_equal(got.push_token, row.push_token));
	cr_assert_eq(registration_del(s.view, account, &row), OK);
	scratch_save(&s);
	cr_expect_eq(registration_get(s.view, account, &got), ERR_NOT_FOUND);
	cr_expect_eq(registration_device_get(s.view, account, &got), ERR_NOT_FOUND);
	cr_expect_eq(count_of_pass(account, 7), 2);
	cr_expect_eq(count_of_device(account, "phone", 3), 2);
}

Test(registration, all_of_a_pass_go_in_steps)
{
	struct cleanup left = cleanup_of_number(account, CLEANUP_REGISTRATIONS, 7);
	bool           done = false;
	unsigned       steps = 0;
	make_some();
	for (unsigned i = 0; i < REGISTRATIONS_PER_PASS_MAX; i++) {
		char device[16];
		snprintf(device, sizeof device, "device %u", i);
		put(account, 7, device, 3);
	}
	for (; !done; steps++) {
		cr_assert_eq(registrations_clean(s.view, &left, &done), OK);
		cr_expect_leq(s.staged.count, (unsigned)BULK_WRITES_MAX);
		scratch_save(&s);
	}
	cr_expect_geq(steps, 2);
	cr_expect_eq(count_of_pass(account, 7), 0);
	cr_expect_eq(count_of_pass(account, 6), 1);
	cr_expect_eq(count_of_device(account, "phone", 3), 2);
	cr_expect_eq(count_of_pass(after, 7), 1);
}

Test(registration, what_is_due_is_one_row_a_pass)
{
	struct wallet_due row = {.account = account, .kind = WALLET_DUE_REMOVAL, .number = 7, .due = {100}};
	cr_assert_eq(wallet_due_put(s.view, &row), OK);
	scratch_save(&s);
	row.due.v = 200;
	cr_assert_eq(wallet_due_put(s.view, &row), OK);
	row.account = after;
	cr_assert_eq(wallet_due_put(s.view, &row), OK);
	scratch_save(&s);
	struct wallet_due got = {.kind = WALLET_DUE_REMOVAL};
	cr_assert_eq(wallet_due_from(s.view, &got), OK);
	cr_expect_arr_eq(got.account.b, account.b, sizeof account.b);
	cr_expect_eq(got.due.v, 200);
	cr_assert_eq(wallet_due_next(s.view, &got), OK);
	cr_expect_arr_eq(got.account.b, after.b, sizeof after.b);
	cr_expect_eq(wallet_due_next(s.view, &got), ERR_NOT_FOUND);
	cr_assert_eq(wallet_due_del(s.view, &row), OK);
	scratch_save(&s);
	cr_expect_eq(wallet_due_get(s.view, &row), ERR_NOT_FOUND);
}
