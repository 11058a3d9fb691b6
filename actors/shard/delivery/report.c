/* DELIVERY_REPORT: results of attempts. A report counts only for the exact lease that it names. Any other is a repetition, or
 * belongs to an attempt that was given up; it is acknowledged and ignored. */
#include "actors/shard/delivery/delivery.h"
#include "schemas/api/delivery.h"

struct work {
	unsigned    count;
	struct ends accounts;
	struct item {
		struct attempt_report report;
		struct delivery       row;
	} items[REPORTS_PER_CALL_MAX];
};

static bool is_success(const struct attempt_report *report)
{
	return report->error == ATTEMPT_NONE && report->status >= 200 && report->status <= 299;
}

/* Was this the delivery's last attempt? */
static bool is_last(const struct item *item)
{
	if (item->report.what == ATTEMPT_NOT_MADE) return false;
	return item->report.what == ATTEMPT_VOID || is_success(&item->report) ||
	       item->row.attempts >= DELIVERY_ATTEMPTS_MAX;
}

static enum err take_in(struct request *request, const uint8_t *bytes, struct work *work)
{
	struct item *item = &work->items[work->count];
	if (!attempt_report_read(bytes, &item->report)) return ERR_MALFORMED;
	const struct lease *lease = &item->report.lease;
	item->row = (struct delivery){.account = lease->account,
	                              .subscription = lease->subscription,
	                              .zone = ZONE_LEASED,
	                              .due = lease->due,
	                              .event = lease->event};
	for (unsigned i = 0; i < work->count; i++) /* the same lease twice in one call */
		if (work->items[i].report.lease.token == lease->token) return OK;
	enum err err = delivery_get(request->view, &item->row);
	if (err == ERR_NOT_FOUND) return OK;
	if (err || item->row.token != lease->token) return err;
	if (is_last(item)) ends_note(&work->accounts, lease->account);
	work->count++;
	return OK;
}

/* What the attempt shows about the endpoint: one that responds late or never must not hold many leases. */
static void note_health(struct request *request, const struct item *item)
{
	struct delivery_queue       *queue = request->deliveries;
	const struct attempt_report *report = &item->report;
	struct lane                 *lane = queue_lane(queue, item->row.account, item->row.subscription);
	if (!lane || report->what == ATTEMPT_VOID) return;
	if (report->what == ATTEMPT_NOT_MADE) { /* not the endpoint's fault */
		queue_hold(queue, lane, (wall_us){request->now.v + LANE_HOLD_MS * US_PER_MS});
		return;
	}
	bool slow = report->error == ATTEMPT_TIMEOUT || report->latency_ms > EGRESS_SLOW_MS;
	queue_note(queue, lane, slow ? LANE_DOUBTFUL : LANE_SOUND, report->error == ATTEMPT_NONE);
}

static enum err settle(struct request *request, struct work *work, const struct item *item)
{
	const struct attempt_report *report = &item->report;
	struct delivery              row = item->row;
	if (report->what == ATTEMPT_MADE) {
		row.error = report->error;
		row.status = report->status;
		row.detail = report->detail;
	}
	if (report->what == ATTEMPT_VOID) {
		row.attempts--;
		return ends_put(request, &work->accounts, &row, DELIVERY_DISCARDED);
	}
	if (is_last(item))
		return ends_put(request, &work->accounts, &row,
		                is_success(report) ? DELIVERY_DELIVERED : DELIVERY_FAILED);
	enum err err = delivery_del(request->view, &row);
	if (err) return err;
	row.zone = ZONE_WAITING;
	if (report->what == ATTEMPT_NOT_MADE)
		row.attempts--;
	else
		row.due.v = request->now.v + delivery_wait(row.attempts).v;
	return delivery_put(request->view, &row);
}

static void count_one(struct request *request, const struct item *item)
{
	struct delivery_counters    *counters = request->counters;
	const struct attempt_report *report = &item->report;
	if (report->what != ATTEMPT_MADE) return;
	unsigned kind = report->error ? report->error : is_success(report) ? 0u : (unsigned)ATTEMPT_ERRORS;
	atomic_fetch_add_explicit(&counters->attempts[kind], 1, memory_order_relaxed);
	if (item->row.attempts != 1) return;
	int64_t late = request->now.v - item->row.fact.v - (int64_t)report->latency_ms * US_PER_MS;
	histogram_add(&counters->first_attempt, &scale_us, late > 0 ? late : 0);
}

enum err on_DELIVERY_REPORT(struct request *request, struct outcome *outcome)
{
	struct work work = {.count = 0};
	struct span reports = arg_span(&request->args[ARG_DELIVERY_REPORT_reports]);
	enum err    err = reports.size % ATTEMPT_REPORT_BYTES ? ERR_MALFORMED : OK;
	(void)outcome;
	for (size_t at = 0; at < reports.size && !err; at += ATTEMPT_REPORT_BYTES)
		err = take_in(request, reports.at + at, &work);
	if (!err) err = ends_look_up(request, &work.accounts);
	for (unsigned i = 0; i < work.count && !err; i++) {
		note_health(request, &work.items[i]);
		count_one(request, &work.items[i]);
		err = settle(request, &work, &work.items[i]);
	}
	return err;
}
