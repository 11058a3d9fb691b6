/* DELIVERY_LEASE: due deliveries are handed out and counted, obsolete ones end, unreported ones return to the
 * queue or have failed, and no command writes more than it can. */
#include "tests/unit/deliveries.h"

TestSuite(delivery_lease, .init = begin_shops, .fini = end_deliveries);

static void facts_of(unsigned of, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		fact(of, EVENT_PASS_BALANCE_UPDATE, 0);
}

static void wait_for(int64_t seconds)
{
	now.v += seconds * US_PER_SEC;
	mono.v += seconds * US_PER_SEC;
}

Test(delivery_lease, waits_where_nothing_is_due)
{
	cr_expect_eq(lease_some(24), ERR_PARKED);
	fact(0, EVENT_PASS_CREATED, 0); /* the timer does not want these */
	cr_expect_eq(lease_some(24), ERR_PARKED);
	mono.v += (LEASE_ASK_MS - LEASE_ANSWER_MS) * US_PER_MS;
	call.deadline = mono;
	cr_expect_eq(count_zone(ZONE_WAITING), 0);
}

Test(delivery_lease, counts_an_attempt_before_it_can_be_made)
{
	facts_of(3, 1);
	cr_assert_eq(lease_some(24), OK);
	cr_assert_eq(lease_count, 1);
	struct delivery row = only_row();
	cr_expect(row.zone == ZONE_LEASED && row.attempts == 1 && row.instance == instance);
	cr_expect(row.token == leases[0].token && row.due.v == leases[0].due.v && row.fact.v == now.v);
	cr_expect(uuid_same(row.event, leases[0].event));
	cr_expect_eq(lease_some(24), ERR_PARKED);
	cr_expect_eq(queue_leases(&queue), 1);
}

Test(delivery_lease, gives_no_more_than_is_asked_for)
{
	for (unsigned of = 0; of < SHOPS; of++)
		facts_of(of, 10);
	cr_assert_eq(lease_some(1), OK);
	cr_expect_eq(lease_count, 1);
	cr_assert_eq(lease_some(24), OK);
	cr_expect_eq(lease_count, 24);
}

Test(delivery_lease, leaves_deliveries_that_are_not_due)
{
	facts_of(0, 1);
	cr_assert_eq(lease_some(24), OK);
	report_one(0, ATTEMPT_MADE, ATTEMPT_NONE, 500); /* due again in half a minute */
	facts_of(0, 1);
	cr_assert_eq(lease_some(24), OK);
	cr_expect_eq(lease_count, 1);
	now.v += 30 * US_PER_SEC - 1;
	cr_expect_eq(lease_some(24), ERR_PARKED);
	now.v += 1;
	cr_expect_eq(lease_some(24), OK);
}

static void expect_discarded(unsigned of)
{
	struct delivery_end end;
	cr_assert_eq(lease_some(24), OK);
	cr_expect_eq(lease_count, 0);
	cr_expect(count_zone(ZONE_WAITING) == 0 && count_zone(ZONE_LEASED) == 0);
	cr_assert_eq(count_ends(of, &end), 1);
	cr_expect(end.outcome == DELIVERY_DISCARDED && end.was.attempts == 0 && end.ended.v == now.v);
}

Test(delivery_lease, discards_deliveries_of_a_deleted_subscription)
{
	facts_of(2, 1);
	drop_hook(2, 2);
	expect_discarded(2);
}

Test(delivery_lease, discards_deliveries_of_an_older_generation)
{
	facts_of(2, 1);
	put_hook(2, 2, 2);
	expect_discarded(2);
}

Test(delivery_lease, discards_deliveries_of_a_deleted_pass)
{
	facts_of(2, 1);
	delete_shop_pass(2, 0);
	expect_discarded(2);
}

Test(delivery_lease, gives_nothing_to_a_timer_that_requests_nothing)
{
	facts_of(0, 1);
	cr_assert_eq(lease_some(0), OK);
	cr_expect_eq(lease_count, 0);
	cr_expect(count_zone(ZONE_WAITING) == 1 && count_zone(ZONE_LEASED) == 0);
}

Test(delivery_lease, takes_back_unreported_leases)
{
	facts_of(0, 1);
	cr_assert_eq(lease_some(24), OK);
	mono.v += LEASE_MS * US_PER_MS - 1;
	cr_expect_eq(lease_some(24), ERR_PARKED);
	mono.v += 1;
	now.v += 1;
	cr_expect(queue_is_ready(&queue, now, mono));
	cr_assert_eq(lease_some(24), OK);
	struct delivery row = only_row();
	cr_expect(row.zone == ZONE_WAITING && row.attempts == 1 && row.error == ATTEMPT_UNREPORTED);
	cr_expect_eq(row.due.v, now.v);
	cr_assert_eq(lease_some(24), OK);
	cr_expect_eq(lease_count, 1);
	cr_expect_eq(only_row().attempts, 2);
}

Test(delivery_lease, takes_back_the_leases_of_an_earlier_timer)
{
	for (unsigned of = 0; of < 5; of++)
		facts_of(of, 1);
	cr_assert_eq(lease_some(3), OK);
	instance = 2;
	cr_assert_eq(lease_some(24), OK);
	cr_expect_eq(lease_count, 2, "the others, in the same command");
	cr_expect(count_zone(ZONE_WAITING) == 3 && count_zone(ZONE_LEASED) == 2);
	cr_assert_eq(lease_some(24), OK);
	cr_expect_eq(lease_count, 3);
	cr_expect_eq(lease_some(24), ERR_PARKED, "leases of the current timer are not taken back");
}

Test(delivery_lease, makes_a_seventh_attempt_and_no_eighth)
{
	struct delivery_end end;
	facts_of(0, 1);
	for (unsigned i = 1; i <= DELIVERY_ATTEMPTS_MAX; i++) {
		instance++;
		if (i > 1) cr_assert_eq(lease_some(24), OK); /* takes the lease back */
		if (i > 2)
			cr_assert_eq(lease_some(24), ERR_PARKED, "the previous lease ended in the same way");
		if (i > 2) now.v += delivery_wait(i - 1).v;
		cr_assert_eq(lease_some(24), OK);
		cr_assert_eq(lease_count, 1, "attempt %u", i);
		cr_expect_eq(only_row().attempts, i);
	}
	instance++;
	cr_assert_eq(lease_some(24), OK);
	cr_expect_eq(lease_count, 0);
	cr_assert_eq(count_ends(0, &end), 1);
	cr_expect(end.outcome == DELIVERY_FAILED && end.was.attempts == DELIVERY_ATTEMPTS_MAX &&
	          end.was.error == ATTEMPT_UNREPORTED);
	cr_expect_eq(atomic_load(&counters.attempts[ATTEMPT_UNREPORTED]), DELIVERY_ATTEMPTS_MAX);
	cr_expect_eq(lease_some(24), ERR_PARKED);
}

enum { ENDING = ENDS_PER_COMMAND_MAX };

/* The most that one command can write: leases, then as many ends as it accepts, each of a different account
 * with two old ones to remove. */
Test(delivery_lease, never_writes_more_than_a_command_can)
{
	for (unsigned i = 0; i < 2 * ENDING + 2; i++) { /* which shows that the endpoints answer */
		facts_of(i < 2 ? ENDING + i : i % ENDING, 1);
		cr_assert_eq(lease_some(1), OK);
		report_one(0, ATTEMPT_MADE, ATTEMPT_NONE, 200);
	}
	wait_for(DELIVERIES_KEPT_DAYS * INT64_C(86400) + 1);
	facts_of(ENDING, LANE_TURN_MAX);
	facts_of(ENDING + 1, LEASES_PER_CALL_MAX - ENDING - LANE_TURN_MAX);
	wait_for(1);
	for (unsigned of = 0; of < ENDING; of++) {
		facts_of(of, 1);
		drop_hook(of, of);
	}
	for (unsigned i = 0; i < 3; i++) {
		if (lease_some(24) == ERR_PARKED) break;
	}
	cr_expect_eq(count_zone(ZONE_WAITING), 0);
	cr_expect_leq(writes_most, BULK_WRITES_MAX);
	cr_expect_gt(writes_most, BULK_WRITES_MAX - 6, "%u are not the highest number", writes_most);
}
