/* Finished deliveries: they are numbered in order and listed, and removed by age and number, a few at each
 * new one. And DELIVERY_LIST, which lists them and those that wait. */
#include "tests/unit/deliveries.h"

#include "actors/shard/account/account.h"

static const int64_t kept_us = DELIVERIES_KEPT_DAYS * INT64_C(86400) * US_PER_SEC;

TestSuite(delivery_ends, .init = begin_shops, .fini = end_deliveries);

static void deliver_one(unsigned of)
{
	fact(of, EVENT_PASS_BALANCE_UPDATE, 0);
	cr_assert_eq(lease_some(1), OK);
	cr_assert_eq(lease_count, 1);
	report_one(0, ATTEMPT_MADE, ATTEMPT_NONE, 200);
}

static uint64_t first_end(unsigned of)
{
	struct delivery_end row = {.number = 0};
	cr_assert_eq(delivery_end_after(s.view, shop(of), 0, &row), OK);
	return row.number;
}

Test(delivery_ends, are_numbered_in_order)
{
	struct delivery_end last = {.number = 0};
	for (unsigned i = 0; i < 5; i++) {
		deliver_one(0);
		deliver_one(1);
		now.v++;
	}
	cr_expect(count_ends(0, &last) == 5 && last.number == 5 && last.ended.v == now.v - 1);
	cr_expect(count_ends(1, &last) == 5 && last.number == 5);
	cr_expect(count_ends(2, &last) == 0);
}

/* Each new one removes more than one, so that after a long pause old ones do not remain for another day. */
Test(delivery_ends, are_removed_by_age_a_few_at_a_time)
{
	struct delivery_end last;
	for (unsigned i = 0; i < 10; i++)
		deliver_one(0);
	now.v += kept_us;
	deliver_one(0);
	cr_expect_eq(first_end(0), 1, "to the microsecond");
	now.v++;
	for (unsigned i = 0; i < 5; i++) {
		deliver_one(0);
		cr_expect_eq(first_end(0), 3 + 2 * i);
	}
	deliver_one(0);
	cr_expect_eq(first_end(0), 11, "new ones stay");
	cr_expect(count_ends(0, &last) == 7 && last.number == 17);
}

Test(delivery_ends, continue_the_numbers_after_all_were_removed)
{
	struct delivery_end last;
	deliver_one(0);
	now.v += kept_us + 1;
	deliver_one(0);
	cr_expect(count_ends(0, &last) == 1 && last.number == 2);
	now.v += kept_us + 1;
	deliver_one(0);
	cr_expect(count_ends(0, &last) == 1 && last.number == 3);
}

Test(delivery_ends, have_a_maximum_number)
{
	struct delivery_end row = {.was = {.account = shop(0), .generation = 1, .attempts = 1, .fact = {1}},
	                           .outcome = DELIVERY_DELIVERED,
	                           .ended = now},
	                    last;
	for (row.number = 1; row.number < DELIVERIES_KEPT_MAX; row.number++) {
		cr_assert_eq(delivery_end_put(s.view, &row), OK);
		scratch_save(&s);
	}
	deliver_one(0);
	cr_expect(first_end(0) == 1 && count_ends(0, &last) == DELIVERIES_KEPT_MAX);
	deliver_one(0);
	cr_expect(first_end(0) == 2 && count_ends(0, &last) == DELIVERIES_KEPT_MAX);
	deliver_one(1);
	cr_expect_eq(first_end(0), 2, "another account has its own numbers");
	struct attempt_report reports[3];
	for (unsigned i = 0; i < 3; i++)
		fact(0, EVENT_PASS_BALANCE_UPDATE, 0);
	cr_assert_eq(lease_some(3), OK);
	for (unsigned i = 0; i < 3; i++)
		reports[i] = end_of_lease(i, ATTEMPT_MADE, ATTEMPT_NONE, 200);
	cr_assert_eq(report_all(reports, 3), OK);
	cr_expect(first_end(0) == 5 && count_ends(0, &last) == DELIVERIES_KEPT_MAX);
}

Test(delivery_ends, of_one_call_write_no_more_than_a_command_can)
{
	struct attempt_report reports[REPORTS_PER_CALL_MAX];
	for (unsigned i = 0; i < 2 * REPORTS_PER_CALL_MAX; i++)
		deliver_one(i % REPORTS_PER_CALL_MAX);
	now.v += kept_us + 1;
	for (unsigned of = 0; of < REPORTS_PER_CALL_MAX; of++)
		fact(of, EVENT_PASS_BALANCE_UPDATE, 0);
	cr_assert_eq(lease_some(REPORTS_PER_CALL_MAX), OK);
	for (unsigned i = 0; i < REPORTS_PER_CALL_MAX; i++)
		reports[i] = end_of_lease(i, ATTEMPT_MADE, ATTEMPT_NONE, 200);
	cr_assert_eq(report_all(reports, REPORTS_PER_CALL_MAX), OK);
	cr_expect_eq(writes_most, 4 * REPORTS_PER_CALL_MAX);
}

/* DELIVERY_LIST ------------------------------------------------------------------------------------------- */

static msgpack_zone  *zone;
static msgpack_object items;

static enum err list(unsigned of, const char *subscription)
{
	msgpack_object  arg = subscription ? value_text(subscription) : value_nil();
	struct account *account = NULL;
	struct request  request = request_now(&arg);
	cr_assert_eq(account_load(s.view, shop(of), &account), OK);
	request.account = account;
	buffer_clear(&payload);
	enum err err = on_DELIVERY_LIST(&request, &outcome);
	account_free(&account);
	cr_assert_eq(s.staged.count, 0);
	if (err) return err;
	if (!zone) zone = msgpack_zone_new(4096);
	msgpack_object answer = value_unpacked(&payload, zone);
	items = answer.via.array.ptr[0];
	cr_expect_eq(answer.via.array.ptr[1].via.u64, items.via.array.size);
	return OK;
}

static const msgpack_object *member(unsigned item, const char *key)
{
	const msgpack_object_map *map = &items.via.array.ptr[item].via.map;
	for (uint32_t i = 0; i < map->size; i++)
		if (span_is(arg_span(&map->ptr[i].key), key)) return &map->ptr[i].val;
	must(!key);
	return NULL;
}

static void expect_text(unsigned item, const char *key, const char *want)
{
	const msgpack_object *got = member(item, key);
	if (!want)
		cr_expect_eq(got->type, MSGPACK_OBJECT_NIL, "%s", key);
	else
		cr_expect(span_is(arg_span(got), want), "%s is %.*s", key, (int)arg_span(got).size,
		          (const char *)arg_span(got).at);
}

Test(delivery_ends, are_listed_before_leased_and_waiting_ones)
{
	deliver_one(0);
	fact(0, EVENT_PASS_BALANCE_UPDATE, 0);
	cr_assert_eq(lease_some(1), OK);
	report_one(0, ATTEMPT_MADE, ATTEMPT_DNS, 0);
	fact(0, EVENT_PASS_BALANCE_UPDATE, 1);
	cr_assert_eq(lease_some(1), OK);
	deliver_one(1);
	cr_assert_eq(list(0, NULL), OK);
	cr_assert_eq(items.via.array.size, 3);
	expect_text(0, "outcome", "delivered");
	expect_text(0, "next_due_at", NULL);
	expect_text(0, "last_error", NULL);
	cr_expect(member(0, "last_status")->via.u64 == 200 && member(0, "attempts")->via.u64 == 1);
	expect_text(1, "outcome", "pending");
	expect_text(1, "next_due_at", "2023-11-14T22:13:20.000Z");
	expect_text(2, "next_due_at", "2023-11-14T22:13:50.000Z");
	expect_text(2, "last_error", "dns");
	expect_text(2, "last_status", NULL);
	expect_text(2, "type", "pass.balanceUpdate");
	expect_text(2, "subscription_id", "68000000-0000-0000-0000-000000000000");
	delete_shop_pass(0, 1);
	cr_assert_eq(list(0, NULL), OK);
	expect_text(1, "outcome", "discarded");
	expect_text(2, "outcome", "pending");
	now.v += kept_us + 1;
	cr_assert_eq(list(0, NULL), OK);
	cr_expect_eq(items.via.array.size, 2, "the old one is not listed although its row exists");
}

Test(delivery_ends, are_listed_of_one_subscription)
{
	put_hook(0, 9, 1);
	fact(0, EVENT_PASS_BALANCE_UPDATE, 0);
	cr_assert_eq(list(0, NULL), OK);
	cr_expect_eq(items.via.array.size, 2);
	cr_assert_eq(list(0, "68000000-0000-0000-0000-000000000009"), OK);
	cr_assert_eq(items.via.array.size, 1);
	expect_text(0, "subscription_id", "68000000-0000-0000-0000-000000000009");
	cr_assert_eq(list(0, "68000000-0000-0000-0000-000000000008"), OK);
	cr_expect_eq(items.via.array.size, 0);
	cr_expect_eq(list(0, "x"), ERR_INVALID_INPUT);
	cr_expect(span_is(outcome.field, "subscription_id"));
}
