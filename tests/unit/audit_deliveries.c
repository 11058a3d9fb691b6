/* The audit of deliveries: each rule, broken alone in an otherwise sound shop, is reported. */
#include "tests/unit/audit_look.h"

#include "store/delivery.h"

TestSuite(audit_deliveries, .init = make_shop, .fini = end);

static struct delivery some(enum delivery_zone zone)
{
	return (struct delivery){.account = account,
	                         .subscription = {{7}},
	                         .event = {{1}},
	                         .zone = zone,
	                         .due = {200},
	                         .kind = EVENT_PASS_CREATED,
	                         .attempts = 1,
	                         .generation = 1,
	                         .subject = 3,
	                         .fact = {100},
	                         .token = 5,
	                         .instance = 6};
}

static struct delivery_end some_end(uint64_t number)
{
	return (struct delivery_end){
	    .was = some(ZONE_WAITING), .number = number, .outcome = DELIVERY_DELIVERED, .ended = {300}};
}

static void store(struct delivery row)
{
	must(!delivery_put(s.view, &row));
	scratch_save(&s);
}

static void store_end(struct delivery_end row)
{
	must(!delivery_end_put(s.view, &row));
	scratch_save(&s);
}

static void break_subject(void)
{
	struct delivery row = some(ZONE_WAITING);
	row.subject = PASSES;
	store(row);
}
static void break_generation(void)
{
	struct delivery row = some(ZONE_WAITING);
	row.generation = 0;
	store(row);
}
static void break_fact(void)
{
	struct delivery row = some(ZONE_WAITING);
	row.fact.v = -1;
	store(row);
}
static void break_due(void)
{
	struct delivery row = some(ZONE_LEASED);
	row.due.v = 99;
	store(row);
}
static void break_leased(void)
{
	struct delivery row = some(ZONE_LEASED);
	row.attempts = 0;
	store(row);
}
static void break_attempts(void)
{
	struct delivery row = some(ZONE_WAITING);
	row.attempts = DELIVERY_ATTEMPTS_MAX + 1;
	store(row);
}
static void break_zone(void)
{
	store(some((enum delivery_zone)3));
}
static void break_form(void)
{
	put(TABLE_DELIVERY, key_u32(account, 1), span_str("x"));
}
static void break_account(void)
{
	put(TABLE_DELIVERY, key_u32(nobody, 1), span_str("x"));
}
static void break_end_subject(void)
{
	struct delivery_end row = some_end(1);
	row.was.subject = PASSES;
	store_end(row);
}
static void break_ended(void)
{
	struct delivery_end row = some_end(1);
	row.ended.v = 99;
	store_end(row);
}
static void break_unmade(void)
{
	struct delivery_end row = some_end(1);
	row.was.attempts = 0;
	store_end(row);
}
static void break_outcome(void)
{
	struct delivery_end row = some_end(1);
	row.outcome = DELIVERY_PENDING;
	store_end(row);
}
static void break_number(void)
{
	store_end(some_end(0));
}
static void break_gap(void)
{
	struct delivery_end row = some_end(7);
	store_end(some_end(5));
	row.was.event.b[0] = 2;
	store_end(row);
}
static void break_end_account(void)
{
	put(TABLE_DELIVERY_END, key_u64(nobody, 1), span_str("x"));
}

#define ONE "event 01000000-0000-0000-0000-000000000000 "
#define TWO "event 02000000-0000-0000-0000-000000000000 "
#define ROW "table delivery, " ACCOUNT
#define END "table delivery_end, " ACCOUNT

static const struct breakage breakages[] = {
    B(subject, ROW ONE "is of a pass that was never made"),
    B(generation, ROW ONE "is of no generation"),
    B(fact, ROW ONE "has an impossible time"),
    B(due, ROW ONE "is due before it happened"),
    B(leased, ROW "a row of a wrong form"),
    B(attempts, ROW "a row of a wrong form"),
    B(zone, ROW "a row of a wrong form"),
    B(form, ROW "a row of a wrong form"),
    B(account, NOBODY "rows of an account that does not exist"),
    B(end_subject, END ONE "is of a pass that was never made"),
    B(ended, END ONE "ended before it happened"),
    B(unmade, END ONE "ended without an attempt"),
    B(outcome, END "a row of a wrong form"),
    B(number, END "a row of a wrong form"),
    B(gap, END TWO "follows a gap in the numbers"),
    B(end_account, NOBODY "rows of an account that does not exist"),
};

Test(audit_deliveries, reports_each_broken_rule)
{
	try_breakages(breakages, sizeof breakages / sizeof *breakages);
}

Test(audit_deliveries, finds_no_fault_after_commands)
{
	struct delivery     waiting = some(ZONE_WAITING);
	struct delivery_end discarded = some_end(9);
	look();
	cr_assert_eq(faults.count, 0);
	uint64_t rows = audit.rows;
	waiting.attempts = 0;
	waiting.due = waiting.fact;
	discarded.was.attempts = 0;
	discarded.outcome = DELIVERY_DISCARDED;
	store(waiting);
	store(some(ZONE_LEASED));
	store_end(some_end(8));
	store_end(discarded);
	store_end(some_end(10));
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
	cr_expect_eq(audit.rows, rows + 5);
}
