/* Calls of WALLET_REPORT. */
#include "actors/timer/push_reports.h"

#include "schemas/api/wallet.h"
#include "schemas/limits.h"

#include <stddef.h>
#include <stdlib.h>

enum { REPORT_CALLS_MAX = 16, GATHER_US = 2000, REPORT_AGAIN_MS = 200 };
enum { COMPLAINTS_MAX = 64, GONE_PER_LEASE = 8 }; /* further ones are dropped: they come again */

/* Records being sent. */
struct sent_reports {
	LIST_ENTRY(sent_reports) link;
	struct asked         asked;
	struct push_reports *owner;
	struct buffer        reports, gone, complaints;
};

static bool has_reports(const struct push_reports *reports)
{
	return reports->reports.size || reports->gone.size || reports->complaints.size;
}

/* What has no room any more is dropped. Of reports there is room for each lease in hand. */
static void append(struct push_reports *reports, struct buffer *to, struct span record)
{
	if (to->capacity - to->size < record.size) return;
	if (!has_reports(reports)) reports->gathered_by = mono_after(reports->now, (dur_us){GATHER_US});
	buffer_append(to, record.at, record.size);
}

/* The same in front of the others. */
static void prepend(struct push_reports *reports, struct buffer *to, struct span record)
{
	size_t size = to->size;
	append(reports, to, record);
	if (to->size == size) return;
	memmove(to->at + record.size, to->at, size);
	memcpy(to->at, record.at, record.size);
}

/* What is noted of a push of `wallet check` is sent no later than its report, which ends it. */
static void note(struct push_reports *reports, struct buffer *to, struct span record, bool is_of_check)
{
	(is_of_check ? prepend : append)(reports, to, record);
}

void push_reports_lease(struct push_reports *reports, const struct push_report *report)
{
	uint8_t bytes[PUSH_REPORT_BYTES];
	push_report_write(report, bytes);
	append(reports, &reports->reports, span_of(bytes, sizeof bytes));
}

void push_reports_gone(struct push_reports *reports, const struct push_gone *gone)
{
	uint8_t bytes[PUSH_GONE_BYTES];
	push_gone_write(gone, bytes);
	note(reports, &reports->gone, span_of(bytes, sizeof bytes), gone->pass_number == PROBE_PASS);
}

void push_reports_complain(struct push_reports *reports, const struct push_complaint *complaint)
{
	uint8_t bytes[PUSH_COMPLAINT_BYTES];
	push_complaint_write(complaint, bytes);
	note(reports, &reports->complaints, span_of(bytes, sizeof bytes), complaint->is_rehearsed);
}

static void free_sent(struct sent_reports *sent)
{
	LIST_REMOVE(sent, link);
	buffer_free(&sent->reports);
	buffer_free(&sent->gone);
	buffer_free(&sent->complaints);
	free(sent);
}

/* Reports that the shard did not receive or could not store are repeated. */
static void on_reported(struct asked *asked, const struct reply *reply)
{
	struct sent_reports *sent = (struct sent_reports *)((char *)asked -
	                                                    offsetof(struct sent_reports, asked));
	struct push_reports *reports = sent->owner;
	reports->reporting--;
	if (reply->err && reply->err != ERR_MALFORMED) {
		append(reports, &reports->reports, buffer_span(&sent->reports));
		append(reports, &reports->gone, buffer_span(&sent->gone));
		append(reports, &reports->complaints, buffer_span(&sent->complaints));
		reports->again_at = mono_after(reports->now, (dur_us){REPORT_AGAIN_MS * US_PER_MS});
	} else {
		reports->in_hand -= (uint32_t)(sent->reports.size / PUSH_REPORT_BYTES);
	}
	free_sent(sent);
}

/* Moves the first records. */
static void take(struct buffer *from, size_t record, size_t count_max, struct buffer *to)
{
	size_t size = from->size < record * count_max ? from->size : record * count_max;
	buffer_append(to, from->at, size);
	if (to->failed) return;
	memmove(from->at, from->at + size, from->size - size);
	from->size -= size;
}

static bool send_some(struct push_reports *reports)
{
	msgpack_packer       packer;
	struct sent_reports *sent = calloc(1, sizeof *sent);
	if (!sent) return false;
	sent->asked.on_reply = on_reported;
	sent->owner = reports;
	LIST_INSERT_HEAD(&reports->sent, sent, link);
	struct call call = {.message = MSG_WALLET_REPORT,
	                    .deadline = mono_after(reports->now, (dur_us){CALL_DEADLINE_MS * US_PER_MS})};
	if (rpc_begin(reports->rpc, &call, &sent->asked, &packer)) {
		free_sent(sent);
		return false;
	}
	take(&reports->reports, PUSH_REPORT_BYTES, PUSHES_PER_CALL_MAX, &sent->reports);
	take(&reports->gone, PUSH_GONE_BYTES, PUSH_NOTES_PER_CALL_MAX, &sent->gone);
	take(&reports->complaints, PUSH_COMPLAINT_BYTES, PUSH_NOTES_PER_CALL_MAX, &sent->complaints);
	msgpack_pack_array(&packer, ARGS_WALLET_REPORT);
	pack_bin(&packer, buffer_span(&sent->reports));
	pack_bin(&packer, buffer_span(&sent->gone));
	pack_bin(&packer, buffer_span(&sent->complaints));
	rpc_commit(reports->rpc);
	reports->reporting++;
	return true;
}

dur_us push_reports_send(struct push_reports *reports, mono_us now, bool at_once)
{
	reports->now = now;
	bool is_time = at_once || now.v >= reports->gathered_by.v ||
	               reports->reports.size >= (size_t)PUSHES_PER_CALL_MAX * PUSH_REPORT_BYTES;
	while (is_time && now.v >= reports->again_at.v && has_reports(reports) &&
	       reports->reporting < REPORT_CALLS_MAX && send_some(reports))
		;
	bool gathers = has_reports(reports) && now.v < reports->gathered_by.v;
	return gathers ? mono_since(reports->gathered_by, now) : (dur_us){INT64_MAX};
}

enum err push_reports_open(struct push_reports *reports, struct rpc *rpc, uint32_t places)
{
	*reports = (struct push_reports){.rpc = rpc};
	LIST_INIT(&reports->sent);
	bool good = buffer_reserve(&reports->reports, (size_t)places * PUSH_REPORT_BYTES) &&
	            buffer_reserve(&reports->gone, (size_t)places * GONE_PER_LEASE * PUSH_GONE_BYTES) &&
	            buffer_reserve(&reports->complaints, (size_t)COMPLAINTS_MAX * PUSH_COMPLAINT_BYTES);
	return good ? OK : ERR_NO_MEMORY;
}

void push_reports_close(struct push_reports *reports)
{
	while (!LIST_EMPTY(&reports->sent))
		free_sent(LIST_FIRST(&reports->sent));
	buffer_free(&reports->reports);
	buffer_free(&reports->gone);
	buffer_free(&reports->complaints);
}
