/* WALLET_LEFT: phones that a push leaves out, since no credential serves them or theirs rests; and what ends that. */
#include "tests/unit/push_world.h"

TestSuite(left_phones, .init = begin_pushes, .fini = end_pushes);

/* A pass on two phones, of which one can be pushed to, and was. */
static void leave_a_phone(void)
{
	struct wallet_due row;
	put_phone(0, 4, 1, "pass.gone");
	put_phone(0, 4, 2, "pass.default");
	change(0, 4);
	cr_assert_eq(lease(24), 1);
	cr_assert(is_due(0, WALLET_DUE_LEFT, 4, &row) && row.position);
	report(&leases[0], PUSH_DONE);
	cr_assert(!is_push_due(0, 4));
	pass_seconds(WORK_REST_S);
}

/* As the shard does by itself. Was it time to look? */
static bool look_at_left(uint32_t pass)
{
	struct account *account;
	msgpack_object  args[ARGS_WALLET_LEFT] = {[ARG_WALLET_LEFT_number] = value_integer(pass)};
	if (!work_take(work, WALLET_DUE_LEFT, now)) return false;
	struct request request = request_now(args);
	cr_assert_eq(account_cached(&cache, s.view, shop(0), &account), OK);
	request.account = account;
	cr_assert_eq(save(on_WALLET_LEFT(&request, &outcome)), OK);
	cr_assert_eq(work_rotate(work, shop(0), WALLET_DUE_LEFT, pass, now), OK);
	return true;
}

/* One phone has a pass of this type, the other one of a type of the account's own. */
static void second_phone(const char *first)
{
	put_credential(shop(0), "pass.second");
	put_phone(0, 4, 1, first);
	put_phone(0, 4, 2, "pass.second");
}

Test(left_phones, phones_that_were_left_out_are_pushed_to_when_they_have_a_credential)
{
	struct wallet_due row;
	leave_a_phone();
	cr_expect(!look_at_left(4));
	pass_seconds(60);
	for (unsigned days = 0; days < 3; days++, pass_seconds(86400)) {
		cr_expect(look_at_left(4) && !look_at_left(4), "once a day");
		cr_expect_eq(lease(24), 0, "nothing has changed for the other phone");
	}
	cr_assert(look_at_left(4));
	complain(PUSH_RESTS, 1);
	pass_seconds(60);
	complain(PUSH_WORKS, 1);
	cr_expect(!look_at_left(4));
	put_credential_at(shop(0), "pass.gone", now);
	cr_assert(look_at_left(4));
	cr_expect(!is_due(0, WALLET_DUE_LEFT, 4, &row));
	cr_assert_eq(lease(24), 1);
	cr_expect_eq(token_counts[0], 2);
	report(&leases[0], PUSH_DONE);
	cr_expect(!is_push_due(0, 4));
}

Test(left_phones, a_credential_that_is_put_while_the_wallet_is_off_is_seen_when_it_is_on)
{
	leave_a_phone();
	set_wallets(0, WALLET_BIT(WALLET_APPLE));
	put_credential_at(shop(0), "pass.gone", now);
	cr_assert(look_at_left(4));
	cr_expect_eq(lease(24), 0);
	cr_expect(!look_at_left(4), "it waits");
	set_wallets(0, 0);
	cr_assert(look_at_left(4));
	cr_assert_eq(lease(24), 1);
	cr_expect_eq(token_counts[0], 2);
}

Test(left_phones, another_phone_that_is_left_out_is_looked_at_soon)
{
	leave_a_phone();
	work_free(&work);
	cr_assert_eq(work_load(&work, s.view), OK);
	cr_assert(look_at_left(4) && !look_at_left(4));
	put_phone(0, 4, 3, "pass.other");
	change(0, 4);
	cr_assert_eq(lease(24), 1);
	pass_seconds(60);
	cr_expect(look_at_left(4));
}

Test(left_phones, a_credential_that_is_put_during_a_push_is_seen_soon)
{
	put_phone(0, 4, 1, "pass.gone");
	put_phone(0, 4, 2, "pass.default");
	change(0, 4);
	cr_assert_eq(lease(24), 1);
	put_credential(shop(0), "pass.gone");
	report(&leases[0], PUSH_REFUSED);
	cr_expect(!is_push_due(0, 4));
	pass_seconds(60);
	cr_assert(look_at_left(4));
	cr_assert_eq(lease(24), 1);
}

Test(left_phones, a_credential_that_is_put_during_a_push_is_not_forgotten_with_its_report)
{
	put_phone(0, 4, 1, "pass.gone");
	put_phone(0, 4, 2, "pass.default");
	change(0, 4);
	cr_assert_eq(lease(24), 1);
	put_credential_at(shop(0), "pass.gone", now);
	cr_assert(look_at_left(4));
	report(&leases[0], PUSH_DONE);
	pass_seconds(WORK_LEASE_S);
	cr_assert(look_at_left(4));
	cr_assert_eq(lease(24), 1);
	cr_expect_eq(token_counts[0], 2);
}

/* The account's are removed, and one that was missing is put. */
static void exchange_credentials(void)
{
	cr_assert_eq(wallet_credential_del_all(s.view, shop(0), WALLET_APPLE), OK);
	cr_assert_eq(save(OK), OK);
	put_credential_at(shop(0), "pass.gone", now);
	cr_assert(look_at_left(4));
	pass_seconds(WORK_REST_S);
}

Test(left_phones, one_phone_that_is_served_again_is_seen_beside_one_that_is_no_more)
{
	second_phone("pass.gone");
	change(0, 4);
	cr_assert_eq(lease(24), 1);
	report(&leases[0], PUSH_DONE);
	exchange_credentials();
	cr_assert_eq(lease(24), 1);
}

/* Two phones have the pass under two types each. */
Test(left_phones, phones_that_are_left_out_under_another_type_are_others)
{
	put_credential(shop(0), "pass.second");
	for (uint8_t device = 1; device <= 2; device++) {
		put_phone(0, 4, device, "pass.gone");
		put_phone(0, 4, device, "pass.second");
	}
	change(0, 4);
	cr_assert_eq(lease(24), 1);
	report(&leases[0], PUSH_DONE);
	exchange_credentials();
	cr_assert_eq(lease(24), 1);
	cr_expect_eq(token_counts[0], 2);
}

Test(left_phones, a_credential_that_is_put_during_a_push_that_fails_is_used_at_once)
{
	struct wallet_due row;
	second_phone("pass.default");
	complain(PUSH_RESTS, 1);
	change(0, 4);
	cr_assert_eq(lease(24), 1);
	report(&leases[0], PUSH_AGAIN);
	pass_seconds(WORK_REST_S);
	cr_assert_eq(lease(24), 1);
	put_credential_at(wallet_operator, "pass.default", now);
	report(&leases[0], PUSH_AGAIN);
	cr_assert(is_due(0, WALLET_DUE_PUSH, 4, &row));
	cr_expect(row.tries == 2 && row.due.v == now.v, "not in 30 s");
}

Test(left_phones, a_rest_that_ends_during_a_push_is_not_waited_for)
{
	second_phone("pass.default");
	complain(PUSH_RESTS, 1);
	change(0, 4);
	cr_assert_eq(lease(24), 1);
	put_credential_at(wallet_operator, "pass.default", now);
	report(&leases[0], PUSH_DONE);
	pass_seconds(WORK_REST_S);
	cr_assert_eq(lease(24), 1);
	cr_expect_eq(token_counts[0], 2);
}

Test(left_phones, changes_do_not_wait_for_phones_that_were_left_out)
{
	leave_a_phone();
	for (unsigned days = 0; days < 3; days++, pass_seconds(86400)) {
		change(0, 4);
		cr_assert_eq(lease(24), 1);
		report(&leases[0], PUSH_DONE);
		cr_expect(!is_push_due(0, 4));
		pass_seconds(60);
		cr_expect(look_at_left(4));
	}
}

Test(left_phones, phones_that_were_left_out_are_looked_at_after_a_start)
{
	leave_a_phone();
	put_credential_at(shop(0), "pass.gone", now);
	work_free(&work);
	cr_assert_eq(work_load(&work, s.view), OK);
	cr_assert(look_at_left(4) && !look_at_left(4));
	cr_assert_eq(lease(24), 1);
	cr_expect_eq(token_counts[0], 2);
}

Test(left_phones, phones_that_were_left_out_and_go_are_looked_at_no_more)
{
	struct wallet_due row;
	leave_a_phone();
	struct registration gone = phone(4, 1, "pass.gone");
	cr_assert_eq(registration_del(s.view, shop(0), &gone), OK);
	cr_assert_eq(save(OK), OK);
	pass_seconds(86400);
	cr_assert(look_at_left(4));
	cr_expect(!is_due(0, WALLET_DUE_LEFT, 4, &row));
}
