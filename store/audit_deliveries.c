/* The deliveries of one account: every row can be decoded and is possible: its pass or scan exists, its attempts are
 * within the limit, and it ended after the fact. Ends are numbered without a gap, since the oldest are found and
 * dropped by number. */
#include "store/auditor.h"

#include "schemas/limits.h"
#include "store/delivery.h"

/* Checks common to both tables; `text` becomes the event's id. */
static void judge_facts(struct auditor *auditor, enum table table, const struct delivery *row,
                        char text[UUID_TEXT])
{
	uuid_text(row->event, text);
	bool of_a_scan = event_subject(row->kind) == EVENT_OF_SCAN;
	if (row->subject >= (of_a_scan ? auditor->scan_count : auditor->pass_count))
		audit_fault(auditor, table, "event %s is of a %s that was never made", text,
		            of_a_scan ? "scan" : "pass");
	if (row->generation == 0) audit_fault(auditor, table, "event %s is of no generation", text);
	if (row->fact.v < 0) audit_fault(auditor, table, "event %s has an impossible time", text);
}

static enum err judge_pending(struct auditor *auditor, const struct audit_rows *rows)
{
	struct delivery row;
	char            text[UUID_TEXT];
	if (delivery_read(rows->row.key, rows->value, &row)) return ERR_MALFORMED;
	judge_facts(auditor, TABLE_DELIVERY, &row, text);
	if (row.due.v < row.fact.v)
		audit_fault(auditor, TABLE_DELIVERY, "event %s is due before it happened", text);
	return OK;
}

static enum err judge_end(struct auditor *auditor, const struct audit_rows *rows)
{
	uint64_t           *last = rows->context; /* the number of the previous end; 0: none */
	struct delivery_end row;
	char                text[UUID_TEXT];
	if (delivery_end_read(rows->row.key, rows->value, &row)) return ERR_MALFORMED;
	judge_facts(auditor, TABLE_DELIVERY_END, &row.was, text);
	if (*last && row.number != *last + 1)
		audit_fault(auditor, TABLE_DELIVERY_END, "event %s follows a gap in the numbers", text);
	*last = row.number;
	if (row.ended.v < row.was.fact.v)
		audit_fault(auditor, TABLE_DELIVERY_END, "event %s ended before it happened", text);
	if (row.outcome != DELIVERY_DISCARDED && row.was.attempts == 0)
		audit_fault(auditor, TABLE_DELIVERY_END, "event %s ended without an attempt", text);
	return OK;
}

enum err audit_deliveries(struct auditor *auditor)
{
	uint64_t last = 0;
	enum err err = audit_each(auditor, TABLE_DELIVERY, judge_pending, NULL);
	return err ? err : audit_each(auditor, TABLE_DELIVERY_END, judge_end, &last);
}
