/* Rows of deliveries and of finished ones, leases and reports: they read as they were written, byte for byte
 * as documented; rows that the program does not write are damage. */
#include "store/delivery.h"

#include "schemas/bytes.h"
#include "schemas/limits.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>

enum { KEY = 51, WAITING = 24, LEASED = 40, END = 72, KIND = EVENT_PASS_BALANCE_UPDATE };

SCRATCH_SUITE(delivery);

static struct delivery some(enum delivery_zone zone, int64_t due, uint8_t event)
{
	struct delivery row = {.account = {{'b'}},
	                       .subscription = {{7}},
	                       .event = {{event}},
	                       .zone = zone,
	                       .due = {due},
	                       .kind = KIND,
	                       .attempts = 3,
	                       .error = ATTEMPT_DNS,
	                       .status = 503,
	                       .detail = DETAIL_DNS_SILENT,
	                       .generation = 0x01020304,
	                       .subject = 0x05060708,
	                       .fact = {0x1112131415161718}};
	if (zone == ZONE_LEASED) {
		row.token = 0x2122232425262728;
		row.instance = 0x3132333435363738;
	}
	return row;
}

static void put(const struct delivery *row)
{
	cr_assert_eq(delivery_put(s.view, row), OK);
	scratch_save(&s);
}

static bool same(const struct delivery *a, const struct delivery *b)
{
	return account_same(a->account, b->account) && uuid_same(a->subscription, b->subscription) &&
	       uuid_same(a->event, b->event) && a->zone == b->zone && a->due.v == b->due.v &&
	       a->kind == b->kind && a->attempts == b->attempts && a->error == b->error &&
	       a->status == b->status && a->generation == b->generation && a->subject == b->subject &&
	       a->fact.v == b->fact.v && a->token == b->token && a->instance == b->instance;
}

/* Rows ---------------------------------------------------------------------------------------------------- */

Test(delivery, rows_read_as_they_were_put)
{
	static const enum delivery_zone zones[] = {ZONE_LEASED, ZONE_WAITING};
	for (unsigned i = 0; i < 2; i++) {
		struct delivery row = some(zones[i], 99, 1), got = row;
		got.kind = got.attempts = 0;
		got.fact.v = 0;
		got.token = 1;
		put(&row);
		cr_assert_eq(delivery_get(s.view, &got), OK);
		cr_expect(same(&row, &got));
		cr_assert_eq(delivery_del(s.view, &row), OK);
		scratch_save(&s);
		cr_expect_eq(delivery_get(s.view, &got), ERR_NOT_FOUND);
	}
}

/* The rows of a subscription are a queue: leased ones first, then waiting ones by due time. */
Test(delivery, rows_come_in_the_order_of_their_times)
{
	struct delivery rows[] = {some(ZONE_LEASED, 500, 1),  some(ZONE_WAITING, 1, 9),
	                          some(ZONE_WAITING, 255, 3), some(ZONE_WAITING, 256, 1),
	                          some(ZONE_WAITING, 256, 2), some(ZONE_WAITING, 1, 1)};
	enum { COUNT = sizeof rows / sizeof *rows };
	struct delivery got = {.account = rows[0].account}, skip = rows[1];
	rows[COUNT - 1].subscription.b[0] = 8;
	for (unsigned i = 0; i < COUNT; i++)
		put(&rows[(i * 5 + 2) % COUNT]);
	enum err err = delivery_from(s.view, &got);
	for (unsigned i = 0; i < COUNT; i++, err = delivery_next(s.view, &got)) {
		cr_assert_eq(err, OK);
		cr_expect(same(&got, &rows[i]), "row %u", i);
	}
	cr_expect_eq(err, ERR_NOT_FOUND);
	delivery_skip(&skip);
	cr_assert_eq(delivery_from(s.view, &skip), OK);
	cr_expect(same(&skip, &rows[COUNT - 1]));
	delivery_skip(&skip);
	cr_expect_eq(delivery_from(s.view, &skip), ERR_NOT_FOUND);
}

static struct view_row raw_row(enum table table)
{
	struct view_row row;
	static uint8_t  least[1];
	cr_assert_eq(view_from(s.view, table, span_of(least, 1), &row), OK);
	return row;
}

Test(delivery, rows_are_as_they_are_described)
{
	static const uint8_t facts[WAITING] = {1,    KIND, 3,    ATTEMPT_DNS, 0xf7, 1,    DETAIL_DNS_SILENT,
	                                       0,    4,    3,    2,           1,    8,    7,
	                                       6,    5,    0x18, 0x17,        0x16, 0x15, 0x14,
	                                       0x13, 0x12, 0x11};
	static const uint8_t lease[] = {0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
	                                0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31};
	struct delivery      row = some(ZONE_LEASED, 0x4142434445464748, 9);
	uint8_t              key[KEY] = {'b',  [10] = 7, [26] = 1, [27] = 0x41, 0x42, 0x43,
	                                 0x44, 0x45,     0x46,     0x47,        0x48, 9};
	put(&row);
	struct view_row raw = raw_row(TABLE_DELIVERY);
	cr_expect(span_equal(raw.key, span_of(key, sizeof key)));
	cr_assert_eq(raw.value.size, LEASED);
	cr_expect_arr_eq(raw.value.at, facts, sizeof facts);
	cr_expect_arr_eq(raw.value.at + WAITING, lease, sizeof lease);
	cr_assert_eq(delivery_del(s.view, &row), OK);
	scratch_save(&s);
	row.zone = ZONE_WAITING;
	key[26] = 2;
	put(&row);
	raw = raw_row(TABLE_DELIVERY);
	cr_expect(span_equal(raw.key, span_of(key, sizeof key)));
	cr_expect(span_equal(raw.value, span_of(facts, sizeof facts)));
}

/* Bytes of a value that no valid row has. */
static const struct wrong {
	size_t  at;
	uint8_t byte;
} wrong[] = {{0, 0},
             {0, 2},
             {1, EVENT_KINDS},
             {2, DELIVERY_ATTEMPTS_MAX + 1},
             {2, 255},
             {3, ATTEMPT_ERRORS},
             {6, ATTEMPT_DETAILS},
             {7, 1}};

Test(delivery, invalid_rows_are_damage)
{
	struct delivery row = some(ZONE_LEASED, 99, 1), got;
	uint8_t         key[KEY + 1] = {0}, value[LEASED + 1];
	put(&row);
	struct view_row raw = raw_row(TABLE_DELIVERY);
	memcpy(key, raw.key.at, KEY);
	memcpy(value, raw.value.at, LEASED);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		uint8_t kept = value[wrong[i].at];
		value[wrong[i].at] = wrong[i].byte;
		cr_expect_eq(delivery_read(span_of(key, KEY), span_of(value, LEASED), &got), ERR_DAMAGED,
		             "row %zu", i);
		value[wrong[i].at] = kept;
	}
	value[2] = 0;
	cr_expect_eq(delivery_read(span_of(key, KEY), span_of(value, LEASED), &got), ERR_DAMAGED,
	             "leased for no attempt");
	value[2] = 1;
	for (size_t size = 0; size <= LEASED + 1; size++)
		cr_expect_eq(delivery_read(span_of(key, KEY), span_of(value, size), &got),
		             size == LEASED ? OK : ERR_DAMAGED, "%zu bytes", size);
	for (size_t size = 0; size <= KEY + 1; size++)
		cr_expect_eq(delivery_key_read(span_of(key, size), &got), size == KEY ? OK : ERR_DAMAGED);
	for (unsigned zone = 0; zone < 256; zone++) {
		bool is_zone = zone == ZONE_LEASED || zone == ZONE_WAITING;
		key[26] = (uint8_t)zone;
		cr_expect_eq(delivery_key_read(span_of(key, KEY), &got), is_zone ? OK : ERR_DAMAGED);
		size_t size = zone == ZONE_LEASED ? LEASED : WAITING;
		cr_expect_eq(delivery_read(span_of(key, KEY), span_of(value, size), &got),
		             is_zone ? OK : ERR_DAMAGED);
	}
}

/* Ends ---------------------------------------------------------------------------------------------------- */

static struct delivery_end some_end(uint64_t number)
{
	struct delivery_end row = {.was = some(ZONE_WAITING, 0, 6),
	                           .number = number,
	                           .outcome = DELIVERY_FAILED,
	                           .ended = {0x5152535455565758}};
	row.was.zone = (enum delivery_zone)0;
	return row;
}

static void put_end(const struct delivery_end *row)
{
	cr_assert_eq(delivery_end_put(s.view, row), OK);
	scratch_save(&s);
}

Test(delivery, ends_are_listed_in_order_and_by_account)
{
	static const uint64_t numbers[] = {256, 1, UINT64_MAX - 1, 255};
	struct delivery_end   got = {.number = 0};
	uint64_t              last = 1;
	cr_assert_eq(delivery_end_last(s.view, (struct account_id){{'b'}}, &last), OK);
	cr_expect_eq(last, 0);
	for (unsigned i = 0; i < 4; i++) {
		struct delivery_end row = some_end(numbers[i]), others = row;
		put_end(&row);
		others.was.account.b[0] = 'a';
		put_end(&others);
		others.was.account.b[0] = 'c';
		put_end(&others);
	}
	static const uint64_t order[] = {1, 255, 256, UINT64_MAX - 1};
	for (unsigned i = 0; i < 4; i++) {
		struct delivery_end want = some_end(order[i]);
		cr_assert_eq(delivery_end_after(s.view, want.was.account, got.number, &got), OK);
		cr_expect(got.number == order[i] && got.outcome == want.outcome &&
		          got.ended.v == want.ended.v);
		cr_expect(same(&got.was, &want.was));
	}
	cr_expect_eq(delivery_end_after(s.view, got.was.account, got.number, &got), ERR_NOT_FOUND);
	cr_assert_eq(delivery_end_last(s.view, got.was.account, &last), OK);
	cr_expect_eq(last, UINT64_MAX - 1);
	cr_assert_eq(delivery_end_del(s.view, got.was.account, last), OK);
	scratch_save(&s);
	cr_assert_eq(delivery_end_last(s.view, got.was.account, &last), OK);
	cr_expect_eq(last, 256);
	cr_assert_eq(delivery_end_last(s.view, (struct account_id){{'z'}}, &last), OK);
	cr_expect_eq(last, 0);
}

Test(delivery, ends_are_as_they_are_described)
{
	struct delivery_end  row = some_end(0x0102030405060708), got;
	static const uint8_t tail[] = {
	    DELIVERY_FAILED, 0, 0, 0, 0, 0, 0, 0, 0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51, 7};
	uint8_t key[] = {'b', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, value[END + 1];
	put_end(&row);
	struct view_row raw = raw_row(TABLE_DELIVERY_END);
	cr_expect(span_equal(raw.key, span_of(key, sizeof key)));
	cr_assert_eq(raw.value.size, END);
	cr_expect_arr_eq(raw.value.at + WAITING, tail, sizeof tail);
	cr_expect_eq(raw.value.at[56], 6);
	memcpy(value, raw.value.at, END);
	static const struct wrong outcomes[] = {{24, DELIVERY_PENDING}, {24, DELIVERY_OUTCOMES}, {24, 255}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong + 3; i++) {
		const struct wrong *at = i < 3 ? &outcomes[i] : &wrong[i - 3];
		uint8_t             kept = value[at->at];
		value[at->at] = at->byte;
		cr_expect_eq(delivery_end_read(span_of(key, sizeof key), span_of(value, END), &got),
		             ERR_DAMAGED, "row %zu", i);
		value[at->at] = kept;
	}
	for (size_t size = 0; size <= END + 1; size++)
		cr_expect_eq(delivery_end_read(span_of(key, sizeof key), span_of(value, size), &got),
		             size == END ? OK : ERR_DAMAGED);
	cr_expect_eq(delivery_end_read(span_of(key, sizeof key - 1), span_of(value, END), &got), ERR_DAMAGED);
	memset(key + 10, 0, 8);
	cr_expect_eq(delivery_end_read(span_of(key, sizeof key), span_of(value, END), &got), ERR_DAMAGED,
	             "number 0");
}

/* Leases and reports -------------------------------------------------------------------------------------- */

Test(delivery, leases_and_reports_read_as_they_were_written)
{
	struct attempt_report got, report = {.lease = {.account = {{'b', [9] = 1}},
	                                               .subscription = {{2, [15] = 3}},
	                                               .due = {0x0102030405060708},
	                                               .event = {{4, [15] = 5}},
	                                               .token = 0x1112131415161718},
	                                     .what = ATTEMPT_VOID,
	                                     .error = ATTEMPT_ERRORS - 1,
	                                     .status = 0x2122,
	                                     .latency_ms = 0x31323334,
	                                     .detail = ATTEMPT_DETAILS - 1};
	static const uint8_t  want[ATTEMPT_REPORT_BYTES] = {'b',
	                                                    [9] = 1,
	                                                    2,
	                                                    [25] = 3,
	                                                    1,
	                                                    2,
	                                                    3,
	                                                    4,
	                                                    5,
	                                                    6,
	                                                    7,
	                                                    8,
	                                                    4,
	                                                    [49] = 5,
	                                                    0x11,
	                                                    0x12,
	                                                    0x13,
	                                                    0x14,
	                                                    0x15,
	                                                    0x16,
	                                                    0x17,
	                                                    0x18,
	                                                    ATTEMPT_VOID,
	                                                    ATTEMPT_ERRORS - 1,
	                                                    0x21,
	                                                    0x22,
	                                                    0x31,
	                                                    0x32,
	                                                    0x33,
	                                                    0x34,
	                                                    ATTEMPT_DETAILS - 1};
	uint8_t               bytes[ATTEMPT_REPORT_BYTES];
	attempt_report_write(&report, bytes);
	cr_expect_arr_eq(bytes, want, sizeof want);
	cr_assert(attempt_report_read(bytes, &got));
	cr_expect(got.what == report.what && got.error == report.error && got.status == report.status &&
	          got.latency_ms == report.latency_ms && got.detail == report.detail &&
	          got.lease.token == report.lease.token && got.lease.due.v == report.lease.due.v);
	cr_expect(uuid_same(got.lease.event, report.lease.event) &&
	          uuid_same(got.lease.subscription, report.lease.subscription) &&
	          account_same(got.lease.account, report.lease.account));
	for (unsigned byte = 0; byte < 256; byte++) {
		bytes[LEASE_BYTES] = (uint8_t)byte;
		cr_expect_eq(attempt_report_read(bytes, &got), byte <= ATTEMPT_VOID);
		bytes[LEASE_BYTES] = ATTEMPT_MADE;
		bytes[LEASE_BYTES + 1] = (uint8_t)byte;
		cr_expect_eq(attempt_report_read(bytes, &got), byte < ATTEMPT_ERRORS);
		bytes[LEASE_BYTES + 1] = 0;
		bytes[LEASE_BYTES + 8] = (uint8_t)byte;
		cr_expect_eq(attempt_report_read(bytes, &got), byte < ATTEMPT_DETAILS);
		bytes[LEASE_BYTES + 8] = 0;
	}
}

Test(delivery, waits_follow_the_schedule)
{
	static const int64_t want_s[] = {0, 30, 300, 1800, 7200, 28800, 86400, 0, 0};
	for (unsigned i = 0; i < sizeof want_s / sizeof *want_s; i++)
		cr_expect_eq(delivery_wait(i).v, want_s[i] * US_PER_SEC, "after %u", i);
	cr_expect_eq(delivery_wait(UINT32_MAX).v, 0);
}

Test(delivery, outcomes_and_errors_have_names)
{
	cr_expect_str_eq(delivery_outcome_text(DELIVERY_PENDING), "pending");
	cr_expect_str_eq(delivery_outcome_text(DELIVERY_DISCARDED), "discarded");
	cr_expect_str_eq(delivery_outcome_text(DELIVERY_OUTCOMES), "unknown");
	cr_expect_str_eq(attempt_word(ATTEMPT_UNREPORTED), "unreported");
	cr_expect_str_eq(attempt_word(ATTEMPT_NONE), "");
	cr_expect_str_eq(attempt_word(ATTEMPT_ERRORS), "unknown");
}
