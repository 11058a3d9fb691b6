/* The event types as the interface prints them. */
#include "schemas/event.h"

#include <criterion/criterion.h>

Test(event_kinds, are_read_as_they_are_printed)
{
	static const struct {
		enum event_kind kind;
		const char     *text;
	} rows[] = {{EVENT_PASS_CREATED, "pass.created"},
	            {EVENT_PASS_BALANCE_UPDATE, "pass.balanceUpdate"},
	            {EVENT_SCAN_CREATED, "scan.created"},
	            {EVENT_PASS_INSTALLED, "pass.installed"},
	            {EVENT_PASS_REMOVED, "pass.removed"}};
	cr_assert_eq(sizeof rows / sizeof *rows, EVENT_KINDS);
	for (unsigned i = 0; i < EVENT_KINDS; i++) {
		enum event_kind got = EVENT_KINDS;
		cr_expect_eq(rows[i].kind, i, "kinds are on disk by number");
		cr_expect_str_eq(event_text(i), rows[i].text);
		cr_expect(event_read(span_str(rows[i].text), &got) && got == rows[i].kind);
	}
	cr_expect_str_eq(event_text(EVENT_KINDS), "unknown");
}

Test(event_kinds, refuse_other_names)
{
	static const char *const none[] = {"",
	                                   "pass",
	                                   "pass.created ",
	                                   " pass.created",
	                                   "Pass.created",
	                                   "pass.balanceupdate",
	                                   "pass.balance_update",
	                                   "unknown",
	                                   "scan.create"};
	enum event_kind          kind;
	for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
		cr_expect_not(event_read(span_str(none[i]), &kind), "%s", none[i]);
	cr_expect_not(event_read(span_of("pass.created\0", 13), &kind));
}
