/* DELIVERY_REPORT: attempts that succeeded, failed, were not made or were void; reports without a lease; and
 * which finished deliveries are removed. */
#include "tests/unit/deliveries.h"

#include "schemas/histogram.h"

TestSuite(delivery_report, .init = begin_shops, .fini = end_deliveries);

static void lease_one(unsigned of)
{
	fact(of, EVENT_PASS_BALANCE_UPDATE, 0);
	cr_assert_eq(lease_some(1), OK);
	cr_assert_eq(lease_count, 1);
}

static void expect_end(unsigned of, enum delivery_outcome want, unsigned attempts)
{
	struct delivery_end end = {.number = 0};
	cr_assert_eq(count_ends(of, &end), 1);
	cr_expect(end.outcome == want && end.was.attempts == attempts && end.ended.v == now.v, "%s after %u",
	          delivery_outcome_text(end.outcome), end.was.attempts);
	cr_expect_eq(count_zone(ZONE_LEASED) + count_zone(ZONE_WAITING), 0);
	cr_expect_eq(queue_leases(&queue), 0);
}

Test(delivery_report, only_a_2xx_is_a_success)
{
	static const uint16_t good[] = {200, 201, 204, 299},
	                      bad[] = {0, 100, 199, 300, 302, 400, 410, 503, 65535};
	for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
		lease_one(i);
		report_one(0, ATTEMPT_MADE, ATTEMPT_NONE, good[i]);
		expect_end(i, DELIVERY_DELIVERED, 1);
	}
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		lease_one(5);
		report_one(0, ATTEMPT_MADE, ATTEMPT_NONE, bad[i]);
		cr_expect(count_zone(ZONE_LEASED) == 0 && count_zone(ZONE_WAITING) == i + 1, "%u", bad[i]);
	}
	lease_one(6);
	report_one(0, ATTEMPT_MADE, ATTEMPT_RESET, 200); /* its head arrived, then the answer failed */
	struct delivery_end none;
	cr_expect_eq(count_ends(6, &none), 0);
}

Test(delivery_report, a_failure_is_due_later_and_the_seventh_is_final)
{
	static const int64_t waits[] = {30, 300, 1800, 7200, 28800, 86400};
	fact(0, EVENT_PASS_BALANCE_UPDATE, 0);
	for (unsigned i = 0; i < DELIVERY_ATTEMPTS_MAX; i++) {
		cr_assert_eq(lease_some(24), OK, "attempt %u", i + 1);
		now.v += 7 * US_PER_SEC; /* duration of the attempt */
		report_one(0, ATTEMPT_MADE, ATTEMPT_NONE, 503);
		if (i == DELIVERY_ATTEMPTS_MAX - 1) break;
		struct delivery row = only_row();
		cr_expect(row.zone == ZONE_WAITING && row.attempts == i + 1 && row.status == 503);
		cr_expect_eq(row.due.v, now.v + waits[i] * US_PER_SEC);
		now.v += waits[i] * US_PER_SEC - 1;
		cr_expect_eq(lease_some(24), ERR_PARKED, "attempt %u is early", i + 2);
		now.v++;
	}
	expect_end(0, DELIVERY_FAILED, DELIVERY_ATTEMPTS_MAX);
}

Test(delivery_report, an_attempt_not_made_does_not_count)
{
	lease_one(0);
	struct delivery before = only_row();
	report_one(0, ATTEMPT_NOT_MADE, ATTEMPT_NONE, 0);
	struct delivery row = only_row();
	cr_expect(row.zone == ZONE_WAITING && row.attempts == 0 && row.due.v == before.due.v);
	cr_expect_eq(lease_some(24), ERR_PARKED, "it waits a moment");
	now.v += LANE_HOLD_MS * US_PER_MS;
	cr_assert_eq(lease_some(24), OK);
	cr_expect(lease_count == 1 && only_row().attempts == 1);
}

Test(delivery_report, a_last_attempt_not_made_is_repeated)
{
	fact(0, EVENT_PASS_BALANCE_UPDATE, 0);
	for (unsigned i = 1; i < DELIVERY_ATTEMPTS_MAX; i++) {
		cr_assert_eq(lease_some(24), OK);
		report_one(0, ATTEMPT_MADE, ATTEMPT_TIMEOUT, 0);
		now.v += 86400 * US_PER_SEC;
	}
	cr_assert_eq(lease_some(24), OK);
	cr_assert_eq(only_row().attempts, DELIVERY_ATTEMPTS_MAX);
	report_one(0, ATTEMPT_NOT_MADE, ATTEMPT_NONE, 0);
	now.v += LANE_HOLD_MS * US_PER_MS;
	cr_assert_eq(lease_some(24), OK);
	cr_expect_eq(only_row().attempts, DELIVERY_ATTEMPTS_MAX);
}

Test(delivery_report, a_void_delivery_is_discarded_and_not_counted)
{
	lease_one(0);
	report_one(0, ATTEMPT_VOID, ATTEMPT_NONE, 0);
	expect_end(0, DELIVERY_DISCARDED, 0);
}

Test(delivery_report, a_report_without_a_lease_changes_nothing)
{
	lease_one(0);
	struct attempt_report right = end_of_lease(0, ATTEMPT_MADE, ATTEMPT_NONE, 200);
	for (unsigned i = 0; i < LEASE_BYTES; i++) {
		struct attempt_report wrong = right;
		uint8_t               bytes[LEASE_BYTES];
		lease_write(&wrong.lease, bytes);
		bytes[i] ^= 1;
		lease_read(bytes, &wrong.lease);
		cr_expect_eq(report_all(&wrong, 1), OK);
		cr_expect(count_zone(ZONE_LEASED) == 1 && queue_leases(&queue) == 1, "byte %u", i);
	}
	cr_expect_eq(writes_most, 2, "the lease's own");
	cr_expect_eq(report_all(&right, 1), OK);
	expect_end(0, DELIVERY_DELIVERED, 1);
	cr_expect_eq(report_all(&right, 1), OK, "reported again");
	expect_end(0, DELIVERY_DELIVERED, 1);
}

Test(delivery_report, a_duplicate_report_in_one_call_counts_once)
{
	lease_one(0);
	struct attempt_report first = end_of_lease(0, ATTEMPT_MADE, ATTEMPT_NONE, 200),
	                      both[] = {first, first};
	both[1].status = 500;
	cr_assert_eq(report_all(both, 2), OK);
	expect_end(0, DELIVERY_DELIVERED, 1);
	cr_expect_eq(atomic_load(&counters.attempts[ATTEMPT_NONE]), 1);
	cr_expect_eq(atomic_load(&counters.attempts[ATTEMPT_ERRORS]), 0);
}

Test(delivery_report, a_late_report_does_not_end_a_lease_taken_back)
{
	lease_one(0);
	struct attempt_report late = end_of_lease(0, ATTEMPT_MADE, ATTEMPT_NONE, 200);
	mono.v += LEASE_MS * US_PER_MS;
	cr_assert_eq(lease_some(24), OK);
	cr_assert_eq(report_all(&late, 1), OK);
	cr_expect_eq(count_zone(ZONE_WAITING), 1);
	cr_assert_eq(lease_some(24), OK);
	cr_assert_eq(lease_count, 1);
	cr_assert_eq(report_all(&late, 1), OK);
	cr_expect_eq(count_zone(ZONE_LEASED), 1, "the next attempt belongs to another lease");
}

Test(delivery_report, a_malformed_report_refuses_its_whole_call)
{
	lease_one(0);
	struct attempt_report good = end_of_lease(0, ATTEMPT_MADE, ATTEMPT_NONE, 200), bad[] = {good, good};
	bad[1].what = (enum attempt_what)(ATTEMPT_VOID + 1);
	cr_expect_eq(report_all(bad, 2), ERR_MALFORMED);
	bad[1] = good;
	bad[1].error = ATTEMPT_ERRORS;
	cr_expect_eq(report_all(bad, 2), ERR_MALFORMED);
	uint8_t        bytes[ATTEMPT_REPORT_BYTES + 1];
	msgpack_object arg = value_bin(bytes, sizeof bytes);
	attempt_report_write(&good, bytes);
	struct request request = request_now(&arg);
	cr_expect_eq(save(on_DELIVERY_REPORT(&request, &outcome)), ERR_MALFORMED);
	cr_expect_eq(count_zone(ZONE_LEASED), 1);
	cr_expect_eq(atomic_load(&counters.attempts[ATTEMPT_NONE]), 0);
}
