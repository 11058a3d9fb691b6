/* WALLET_LEASE and WALLET_REPORT: which passes are leased with which phones and credentials, in which order, and what becomes of
 * a pass, its phones and its credential by what the timer reports. */
#include "tests/unit/push_world.h"

TestSuite(pushes, .init = begin_pushes, .fini = end_pushes);

/* What is leased ------------------------------------------------------------------------------------------- */

Test(pushes, a_change_is_leased_at_once_with_the_phones_of_the_pass)
{
	put_phone(0, 3, 1, "pass.default");
	put_phone(0, 3, 2, "pass.default");
	put_phone(0, 4, 1, "pass.default");
	cr_expect_eq(lease(24), 0);
	change(0, 3);
	cr_assert_eq(lease(24), 1);
	cr_expect(leases[0].pass_number == 3 && leases[0].head == 2 && leases[0].since.v == now.v);
	cr_expect(token_counts[0] == 2 && credential_count == 1);
	cr_expect(first_number == wallet_number(span_str("pass.default")) && !first_is_doubtful);
	cr_expect_eq(lease(24), 0, "it is leased");
	report(&leases[0], PUSH_DONE);
	cr_expect(!is_push_due(0, 3));
	cr_expect_eq(counters.fates[PUSH_DONE], 1);
}

Test(pushes, without_a_wallet_nothing_is_written)
{
	atomic_store(&facts.wallets, WALLET_BIT(WALLET_GOOGLE));
	change(0, 3);
	cr_expect(!is_push_due(0, 3));
	atomic_store(&facts.wallets, WALLET_BIT(WALLET_APPLE));
	change_to(0, 4, PASS_REMOVED);
	cr_expect(!is_push_due(0, 4), "nobody shows it");
	change(0, 4);
	cr_expect(!is_push_due(0, 4), "it becomes active by its first phone, which has it");
	change_to(0, 5, PASS_DEACTIVATED);
	cr_expect(is_push_due(0, 5), "its phones are to know that it has ended");
}

Test(pushes, a_pass_without_a_phone_is_settled_by_the_lease)
{
	change(0, 3);
	cr_expect(is_push_due(0, 3));
	cr_expect_eq(lease(24), 0);
	cr_expect(!is_push_due(0, 3));
}

Test(pushes, changes_within_five_seconds_are_one_push)
{
	put_phone(0, 3, 1, "pass.default");
	change(0, 3);
	cr_assert_eq(lease(24), 1);
	report(&leases[0], PUSH_DONE);
	for (unsigned i = 0; i < 10; i++)
		change(0, 3);
	now.v += WORK_REST_S * US_PER_SEC - 1;
	cr_expect_eq(lease(24), 0);
	now.v++;
	cr_assert_eq(lease(24), 1);
	cr_expect_eq(leases[0].head, 12);
	report(&leases[0], PUSH_DONE);
	cr_expect(!is_push_due(0, 3));
}

Test(pushes, a_change_while_it_is_leased_is_told_again)
{
	put_phone(0, 3, 1, "pass.default");
	change(0, 3);
	cr_assert_eq(lease(24), 1);
	pass_seconds(2);
	change(0, 3);
	report(&leases[0], PUSH_DONE);
	cr_assert(is_push_due(0, 3));
	pass_seconds(WORK_REST_S - 2);
	cr_assert_eq(lease(24), 1);
	cr_expect_eq(leases[0].head, 3);
	report(&leases[0], PUSH_DONE);
	cr_expect(!is_push_due(0, 3));
}

Test(pushes, leases_end_with_their_timer_or_after_25_s)
{
	put_phone(0, 3, 1, "pass.default");
	change(0, 3);
	cr_assert_eq(lease(24), 1);
	struct push_lease old = leases[0];
	pass_seconds(WORK_LEASE_S - 1);
	cr_expect_eq(lease(24), 0);
	instance = 2;
	cr_assert_eq(lease(24), 1);
	report(&old, PUSH_DONE);
	cr_expect(is_push_due(0, 3), "a report of a lease that has ended does nothing");
	old = leases[0];
	pass_seconds(WORK_LEASE_S);
	cr_expect(work_is_ready(work, WORK_APPLE, now, mono));
	cr_assert_eq(lease(24), 1);
	report(&old, PUSH_DONE);
	cr_expect(is_push_due(0, 3));
	report(&leases[0], PUSH_DONE);
	cr_expect(!is_push_due(0, 3));
}

Test(pushes, accounts_take_turns_and_single_changes_go_first)
{
	struct wallet_due bulk = {
	    .kind = WALLET_DUE_PUSH, .due = now, .since = now, .flags = WALLET_DUE_IS_BULK};
	bulk.account = shop(0);
	for (uint32_t i = 0; i < 10; i++) {
		put_phone(0, i, 1, "pass.default");
		bulk.number = i;
		cr_assert_eq(wallet_due_put(s.view, &bulk), OK);
		cr_assert_eq(save(OK), OK);
	}
	for (uint32_t i = 20; i < 30; i++) {
		put_phone(0, i, 1, "pass.default");
		change(0, i);
	}
	put_phone(1, 5, 1, "pass.default");
	change(1, 5);
	cr_assert_eq(lease(2), 2);
	cr_expect_neq(leases[0].account.b[1], leases[1].account.b[1]);
	cr_assert_eq(lease(9), 9);
	for (unsigned i = 0; i < 9; i++)
		cr_expect(leases[i].pass_number >= 20);
	cr_assert_eq(lease(24), 10);
	cr_expect_lt(leases[0].pass_number, 10);
}

Test(pushes, after_a_start_all_that_waits_is_due_again)
{
	put_phone(0, 3, 1, "pass.default");
	change(0, 3);
	cr_assert_eq(lease(24), 1);
	work_free(&work);
	cr_assert_eq(work_load(&work, s.view), OK);
	cr_expect_eq(work_count(work, WALLET_DUE_PUSH), 1);
	cr_expect_eq(lease(24), 1);
}

/* What becomes of it ---------------------------------------------------------------------------------------- */

Test(pushes, a_try_that_failed_is_repeated_by_the_schedule_and_given_up_after_seven)
{
	static const int waits[] = {5, 30, 300, 1800, 7200, 28800};
	put_phone(0, 3, 1, "pass.default");
	change(0, 3);
	for (unsigned i = 0; i < 7; i++) {
		struct wallet_due row;
		cr_assert_eq(lease(24), 1, "try %u", i + 1);
		report(&leases[0], PUSH_AGAIN);
		if (i == 6) break;
		cr_assert(is_due(0, WALLET_DUE_PUSH, 3, &row));
		cr_expect_eq(row.due.v, now.v + waits[i] * US_PER_SEC);
		now.v += waits[i] * US_PER_SEC / 2;
		change(0, 3);
		struct wallet_due same;
		cr_expect(is_due(0, WALLET_DUE_PUSH, 3, &same) && same.due.v == row.due.v &&
		              same.tries == i + 1,
		          "a change moves neither its time nor its tries");
		now.v = row.due.v - 1;
		cr_expect_eq(lease(24), 0);
		now.v++;
	}
	cr_expect(!is_push_due(0, 3));
	now.v += WORK_REST_S * US_PER_SEC;
	change(0, 3);
	struct wallet_due row;
	cr_expect(is_due(0, WALLET_DUE_PUSH, 3, &row) && row.tries == 0, "the next change begins anew");
}

Test(pushes, what_apple_refuses_is_given_up)
{
	put_phone(0, 3, 1, "pass.default");
	change(0, 3);
	cr_assert_eq(lease(24), 1);
	report(&leases[0], PUSH_REFUSED);
	cr_expect(!is_push_due(0, 3));
	cr_expect_eq(counters.fates[PUSH_REFUSED], 1);
}

static struct push_gone gone_of(uint32_t pass, uint8_t device, int64_t at_ms)
{
	struct registration row = phone(pass, device, "pass.default");
	struct push_gone    gone = {
	       .account = shop(0), .pass_number = pass, .credential = row.credential, .at_ms = at_ms};
	memcpy(gone.device, row.device, sizeof gone.device);
	push_token_hash(row.push_token, gone.token_hash);
	return gone;
}

static bool is_registered(uint32_t pass, uint8_t device)
{
	struct registration row = phone(pass, device, "pass.default");
	enum err            err = registration_get(s.view, shop(0), &row);
	cr_assert(!err || err == ERR_NOT_FOUND);
	return !err;
}

Test(pushes, a_phone_that_is_gone_loses_its_registration)
{
	struct wallet_due removal;
	put_phone(0, 3, 1, "pass.default");
	put_phone(0, 3, 2, "pass.default");
	struct push_gone gone = gone_of(3, 1, REAL_S * 1000 - 1);
	report_gone(&gone, 1);
	cr_expect(is_registered(3, 1), "it is newer than what Apple says");
	gone.at_ms++;
	gone.token_hash[0] ^= 1;
	report_gone(&gone, 1);
	cr_expect(is_registered(3, 1), "it has another push token by now");
	gone.token_hash[0] ^= 1;
	report_gone(&gone, 1);
	cr_expect(!is_registered(3, 1) && is_registered(3, 2));
	cr_expect(!is_due(0, WALLET_DUE_REMOVAL, 3, &removal));
	struct push_gone twice[] = {gone_of(3, 2, 0), gone_of(3, 2, 0), gone_of(3, 1, 0)};
	report_gone(twice, 3);
	cr_expect(!is_registered(3, 2), "Apple said no time");
	cr_assert(is_due(0, WALLET_DUE_REMOVAL, 3, &removal));
	cr_expect_eq(removal.due.v, now.v + 60 * US_PER_SEC);
	cr_expect_eq(counters.fates[PUSH_GONE_COUNT], 2);
}

Test(pushes, when_all_phones_go_at_once_the_pass_is_to_be_removed)
{
	struct wallet_due removal;
	for (uint8_t device = 1; device <= 3; device++)
		put_phone(0, 3, device, "pass.default");
	struct push_gone all[] = {gone_of(3, 1, 0), gone_of(3, 2, 0), gone_of(3, 3, 0)};
	report_gone(all, 3);
	cr_expect(is_due(0, WALLET_DUE_REMOVAL, 3, &removal));
}

/* Credentials ----------------------------------------------------------------------------------------------- */

Test(pushes, a_credential_rests_longer_each_time_and_works_again)
{
	static const unsigned rests[] = {60, 120, 240, 480, 960, 1920, 3600, 3600};
	for (unsigned i = 0; i < sizeof rests / sizeof *rests; i++) {
		complain(PUSH_RESTS, 1);
		complain(PUSH_RESTS, 1); /* while it rests, no more */
		struct wallet_credential row = credential(wallet_operator, "pass.default");
		cr_expect_eq(row.rest_s, rests[i]);
		cr_expect_eq(row.rests_until.v, now.v + rests[i] * US_PER_SEC);
		cr_expect(span_is(row.last_error, "403 BadCertificate"));
		complain(PUSH_WORKS, 1);
		cr_expect_eq(credential(wallet_operator, "pass.default").rest_s, rests[i],
		             "sent before the rest");
		now.v = row.rests_until.v;
	}
	complain(PUSH_RESTS, 2);
	cr_expect_leq(credential(wallet_operator, "pass.default").rests_until.v, now.v,
	              "a complaint about another generation");
	complain(PUSH_WORKS, 1);
	struct wallet_credential row = credential(wallet_operator, "pass.default");
	cr_expect(!row.rest_s && !row.rests_until.v && !row.last_error.size);
	complain(PUSH_COMPLAINS, 1);
	row = credential(wallet_operator, "pass.default");
	cr_expect(!row.rest_s && span_is(row.last_error, "403 BadCertificate"));
}

Test(pushes, while_a_credential_rests_its_pushes_wait_and_their_tries_do_not_run)
{
	struct wallet_due row;
	put_phone(0, 3, 1, "pass.default");
	change(0, 3);
	cr_assert_eq(lease(24), 1);
	report(&leases[0], PUSH_HELD);
	complain(PUSH_RESTS, 1);
	cr_assert(is_due(0, WALLET_DUE_PUSH, 3, &row) && row.tries == 0);
	now.v += 59 * US_PER_SEC;
	cr_expect_eq(lease(24), 0);
	now.v += US_PER_SEC;
	cr_assert_eq(lease(24), 1);
	cr_expect(first_is_doubtful);
	report(&leases[0], PUSH_HELD);
	complain(PUSH_RESTS, 1);
	now.v += 6 * US_PER_SEC;
	cr_expect_eq(lease(24), 0);
	put_credential(wallet_operator, "pass.default"); /* as a resume does: it rests no more */
	cr_assert_eq(lease(24), 1);
	report(&leases[0], PUSH_DONE);
	cr_expect(!is_push_due(0, 3));
}

Test(pushes, what_is_switched_off_waits_and_goes_on)
{
	put_phone(0, 3, 1, "pass.default");
	set_wallets(0, WALLET_BIT(WALLET_APPLE));
	change(0, 3);
	cr_expect_eq(lease(24), 0);
	cr_expect(is_push_due(0, 3));
	now.v += 10 * US_PER_SEC;
	cr_expect_eq(lease(24), 0);
	set_wallets(0, 0);
	cr_expect_eq(lease(24), 1);
}

Test(pushes, phones_of_a_pass_type_without_a_credential_wait_for_it)
{
	put_phone(0, 3, 1, "pass.gone");
	put_phone(0, 4, 1, "pass.gone");
	put_phone(0, 4, 2, "pass.default");
	change(0, 3);
	change(0, 4);
	cr_assert_eq(lease(24), 1);
	cr_expect(leases[0].pass_number == 4 && token_counts[0] == 1, "the phone that can be told");
	now.v += 10 * US_PER_SEC;
	put_credential(shop(0), "pass.gone");
	cr_assert_eq(lease(24), 1);
	cr_expect_eq(leases[0].pass_number, 3);
}

Test(pushes, what_cannot_be_pushed_holds_up_no_other_pass)
{
	for (uint32_t i = 0; i < 30; i++) {
		put_phone(0, i, 1, "pass.gone");
		change(0, i);
	}
	put_phone(1, 5, 1, "pass.default");
	change(1, 5);
	cr_assert_eq(lease(24), 1, "all are looked at");
	cr_expect_eq(leases[0].account.b[1], 1);
}

Test(pushes, bytes_that_are_no_reports_are_refused)
{
	uint8_t     bytes[PUSH_COMPLAINT_BYTES] = {0};
	struct span none = span_of(NULL, 0);
	cr_expect_eq(send_report(span_of(bytes, PUSH_REPORT_BYTES - 1), none, none), ERR_MALFORMED);
	cr_expect_eq(send_report(span_of(bytes, PUSH_REPORT_BYTES), none, none), ERR_MALFORMED);
	cr_expect_eq(send_report(none, span_of(bytes, PUSH_GONE_BYTES - 1), none), ERR_MALFORMED);
	cr_expect_eq(send_report(none, none, span_of(bytes, PUSH_COMPLAINT_BYTES - 1)), ERR_MALFORMED);
	cr_expect_eq(send_report(none, none, span_of(bytes, PUSH_COMPLAINT_BYTES)), ERR_MALFORMED);
}
