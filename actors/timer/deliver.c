/* One shard's deliveries, from the long poll to the report.
 *
 *   DELIVERY_LEASE ─▶ leases, and what to send ─▶ egress ─▶ ends ─▶ DELIVERY_REPORT
 *                       └▶ what is large: DELIVERY_RENDER ─▶┘
 *
 * Unless all places are in use, the shard has one long poll, which it answers when something is due. A lease is in hand until
 * its report is acknowledged; a report that is not is repeated. A failure before anything was sent is reported as an attempt
 * not made.
 *
 * Each report costs the shard a journal record, unless several share one. So reports wait for each other while more attempts
 * are in progress, at most GATHER_US. The leases that replace the ended ones share the record too. */
#include "actors/timer/deliver.h"

#include "actors/rt/time.h"
#include "actors/timer/poll.h"
#include "actors/timer/reports.h"
#include "schemas/delivery.h"
#include "schemas/api/delivery.h"
#include "schemas/limits.h"
#include "schemas/msgpack_look.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

enum { REPORT_CALLS_MAX = 16, GATHER_US = 1000 };
_Static_assert((int)LEASE_MS >= EGRESS_START_MS + CALL_DEADLINE_GRACE_MS /* rendering */ +
                                    EGRESS_START_MS /* beginning */ + EGRESS_ATTEMPT_MS +
                                    CALL_DEADLINE_MS /* reporting */,
               "an attempt that was made is reported before its lease is over");

static const struct report_kind report_kind = {.message = MSG_DELIVERY_REPORT,
                                               .streams = ARGS_DELIVERY_REPORT,
                                               .of = {{ATTEMPT_REPORT_BYTES, REPORTS_PER_CALL_MAX}},
                                               .calls_max = REPORT_CALLS_MAX,
                                               .gathered_max = 2 * REPORTS_PER_CALL_MAX,
                                               .gather = {GATHER_US},
                                               .again = {POLL_AGAIN_MS * US_PER_MS}};

/* State of a call or request in progress; the first member of each kind's own structure. */
struct work {
	LIST_ENTRY(work) link;
	struct asked      asked;
	struct egress_job job;
	struct deliver   *deliver;
};
LIST_HEAD(works, work);

struct deliver {
	struct works   works;
	struct poll    poll; /* until its ask_at no report is sent, either */
	struct rpc    *rpc;
	struct egress *egress;
	uint32_t       places;
	mono_us        now;
	struct reports reports;
};

/* Leases given together, or being rendered by DELIVERY_RENDER. */
struct batch {
	struct work work;
	unsigned    count;
	uint8_t     leases[LEASES_PER_CALL_MAX][LEASE_BYTES];
	bool        seen[LEASES_PER_CALL_MAX];
};

struct attempt {
	struct work work;
	uint8_t     lease[LEASE_BYTES];
	bool        is_cut; /* reported before it ended */
};

static void *work_new(struct deliver *deliver, size_t size)
{
	struct work *work = calloc(1, size);
	if (!work) return NULL;
	work->deliver = deliver;
	LIST_INSERT_HEAD(&deliver->works, work, link);
	return work;
}

static void work_free(struct work *work)
{
	LIST_REMOVE(work, link);
	free(work);
}

static struct work *work_of(struct asked *asked)
{
	return (struct work *)((char *)asked - offsetof(struct work, asked));
}

static bool call_shard(struct deliver *deliver, enum message message, int64_t wait_ms, struct asked *asked,
                       msgpack_packer *packer)
{
	struct call call = {.message = message,
	                    .deadline = mono_after(deliver->now, (dur_us){wait_ms * US_PER_MS})};
	return rpc_begin(deliver->rpc, &call, asked, packer) == OK;
}

/* Reports ------------------------------------------------------------------------------------------------- */

static void report(struct deliver *deliver, const uint8_t *lease, const struct attempt_report *end)
{
	struct attempt_report whole = *end;
	uint8_t               bytes[ATTEMPT_REPORT_BYTES];
	lease_read(lease, &whole.lease);
	attempt_report_write(&whole, bytes);
	reports_add(&deliver->reports, 0, bytes, false);
}

/* After a failure the shard is neither asked for leases nor sent reports for a while. Reports do not wait for others when no
 * other attempt is in progress. */
static dur_us send_reports(struct deliver *deliver)
{
	struct reports *reports = &deliver->reports;
	bool            are_all = reports_waiting(reports) + reports->unconfirmed >= reports->in_hand;
	reports->now = deliver->now;
	if (deliver->poll.ask_at.v < reports->again_at.v) deliver->poll.ask_at = reports->again_at;
	if (deliver->now.v < deliver->poll.ask_at.v)
		return (dur_us){reports_waiting(reports) ? mono_since(deliver->poll.ask_at, deliver->now).v
		                                         : INT64_MAX};
	return reports_send(reports, deliver->now, are_all || deliver->poll.is_stopping);
}

/* Attempts ------------------------------------------------------------------------------------------------ */

static void on_done(struct egress_job *job, const struct egress_outcome *outcome)
{
	struct attempt       *attempt = (struct attempt *)((char *)job - offsetof(struct work, job));
	int64_t               latency = outcome->latency.v / US_PER_MS;
	struct attempt_report end = {.what = ATTEMPT_MADE,
	                             .error = (uint8_t)outcome->error,
	                             .detail = (uint8_t)outcome->detail,
	                             .status = (uint16_t)outcome->status,
	                             .latency_ms = (uint32_t)(latency > 0 ? latency : 0)};
	if (outcome->error == ATTEMPT_NOT_STARTED) end.what = ATTEMPT_NOT_MADE;
	if (!attempt->is_cut) report(attempt->work.deliver, attempt->lease, &end);
	work_free(&attempt->work);
}

/* A rendered item: [lease, url, id, seconds, signature, body]. */
enum { AT_LEASE, AT_URL, AT_ID, AT_SECONDS, AT_SIGNATURE, AT_BODY, RENDERED_ITEMS };
enum { HEADER_COUNT = 7, HEADER_BYTES = 160 };

static void write_headers(const msgpack_object *item, char text[HEADER_COUNT][HEADER_BYTES])
{
	static const char *const prefixes[] = {"Service-Webhook", "webhook"};
	static const char *const words[][2] = {
	    {"Id", "id"}, {"Timestamp", "timestamp"}, {"Signature", "signature"}};
	struct span id = arg_span(&item[AT_ID]), signature = arg_span(&item[AT_SIGNATURE]);
	char        seconds[24];
	snprintf(seconds, sizeof seconds, "%lld", (long long)arg_integer(&item[AT_SECONDS], 0));
	const struct span values[] = {id, span_str(seconds), signature};
	for (unsigned i = 0; i < HEADER_COUNT - 1; i++)
		snprintf(text[i], HEADER_BYTES, "%s-%s: %.*s", prefixes[i / 3], words[i % 3][i / 3],
		         (int)values[i % 3].size, (const char *)values[i % 3].at);
	snprintf(text[HEADER_COUNT - 1], HEADER_BYTES, "Content-Type: application/json");
}

static struct account_id owner_of(const uint8_t *bytes)
{
	struct lease lease;
	lease_read(bytes, &lease);
	return lease.account;
}

static enum err begin_attempt(struct deliver *deliver, const uint8_t *lease, const msgpack_object *item)
{
	char            text[HEADER_COUNT][HEADER_BYTES];
	const char     *headers[HEADER_COUNT];
	struct attempt *attempt = work_new(deliver, sizeof *attempt);
	if (!attempt) return ERR_NO_MEMORY;
	attempt->work.job.on_done = on_done;
	memcpy(attempt->lease, lease, sizeof attempt->lease);
	write_headers(item, text);
	for (unsigned i = 0; i < HEADER_COUNT; i++)
		headers[i] = text[i];
	struct egress_request request = {.owner = owner_of(lease),
	                                 .url = arg_span(&item[AT_URL]),
	                                 .headers = headers,
	                                 .header_count = HEADER_COUNT,
	                                 .body = arg_span(&item[AT_BODY]),
	                                 .user = &attempt->work.job};
	enum err              err = egress_start(deliver->egress, &request, deliver->now);
	if (err) work_free(&attempt->work);
	return err;
}

static bool is_rendered(const msgpack_object_array *item)
{
	return item->size == RENDERED_ITEMS && item->ptr[AT_URL].type == MSGPACK_OBJECT_STR &&
	       item->ptr[AT_ID].type == MSGPACK_OBJECT_STR &&
	       item->ptr[AT_SECONDS].type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
	       item->ptr[AT_SIGNATURE].type == MSGPACK_OBJECT_STR &&
	       item->ptr[AT_BODY].type == MSGPACK_OBJECT_BIN;
}

/* The item's index in the batch; -1: none. */
static int find_lease(const struct batch *batch, struct span lease)
{
	for (unsigned i = 0; i < batch->count && lease.size == LEASE_BYTES; i++)
		if (!batch->seen[i] && !memcmp(batch->leases[i], lease.at, LEASE_BYTES)) return (int)i;
	return -1;
}

static void take_item(struct batch *batch, const msgpack_object *object)
{
	struct attempt_report       end = {.what = ATTEMPT_NOT_MADE};
	const msgpack_object_array *item = &object->via.array;
	if (object->type != MSGPACK_OBJECT_ARRAY || item->size == 0) return;
	int at = item->ptr[0].type == MSGPACK_OBJECT_BIN ? find_lease(batch, arg_span(&item->ptr[0])) : -1;
	if (at < 0) return;
	batch->seen[at] = true;
	if (is_rendered(item) && batch->work.deliver->poll.is_stopping) {
		/* not begun: the timer is stopping */
	} else if (is_rendered(item)) {
		enum err err = begin_attempt(batch->work.deliver, batch->leases[at], item->ptr);
		if (!err) return;
		if (err == ERR_INVALID_WEBHOOK_URL) {
			end.what = ATTEMPT_MADE;
			end.error = ATTEMPT_ADDRESS_REFUSED;
		}
	} else if (item->size == 1) {
		end.what = ATTEMPT_VOID;
	} else {
		end.what = ATTEMPT_MADE;
		end.error = ATTEMPT_INTERNAL;
	}
	report(batch->work.deliver, batch->leases[at], &end);
}

static void give_back_unseen(struct batch *batch)
{
	struct attempt_report end = {.what = ATTEMPT_NOT_MADE};
	for (unsigned i = 0; i < batch->count; i++) {
		if (!batch->seen[i]) report(batch->work.deliver, batch->leases[i], &end);
		batch->seen[i] = true;
	}
}

static void end_batch(struct batch *batch)
{
	give_back_unseen(batch);
	work_free(&batch->work);
}

static void take_items(struct batch *batch, const msgpack_object *items)
{
	for (uint32_t i = 0; items->type == MSGPACK_OBJECT_ARRAY && i < items->via.array.size; i++)
		take_item(batch, &items->via.array.ptr[i]);
}

/* Parts are arrays of items; the last is [items, total, has more]. */
static void on_rendered(struct asked *asked, const struct reply *reply)
{
	struct batch         *batch = (struct batch *)work_of(asked);
	const msgpack_object *items = reply->payload;
	bool                  more = !reply->err && reply->flags & REPLY_MORE;
	if (!more && !reply->err && items->type == MSGPACK_OBJECT_ARRAY && items->via.array.size)
		items = &items->via.array.ptr[0];
	if (!reply->err) take_items(batch, items);
	if (!more) end_batch(batch);
}

/* Leases for which nothing was begun. */
static void give_back(struct deliver *deliver, struct span leases)
{
	struct attempt_report end = {.what = ATTEMPT_NOT_MADE};
	for (size_t at = 0; at < leases.size; at += LEASE_BYTES, deliver->reports.in_hand++)
		report(deliver, leases.at + at, &end);
}

static void forget_seen(struct batch *batch)
{
	unsigned left = 0;
	for (unsigned i = 0; i < batch->count; i++)
		if (!batch->seen[i]) memmove(batch->leases[left++], batch->leases[i], LEASE_BYTES);
	memset(batch->seen, 0, sizeof batch->seen);
	batch->count = left;
}

/* Requests what did not come with the leases. */
static void render(struct batch *batch)
{
	msgpack_packer  packer;
	struct deliver *deliver = batch->work.deliver;
	forget_seen(batch);
	batch->work.asked.on_reply = on_rendered;
	if (batch->count == 0 ||
	    !call_shard(deliver, MSG_DELIVERY_RENDER, EGRESS_START_MS, &batch->work.asked, &packer)) {
		end_batch(batch);
		return;
	}
	msgpack_pack_array(&packer, ARGS_DELIVERY_RENDER);
	pack_bin(&packer, span_of(batch->leases, (size_t)batch->count * LEASE_BYTES));
	rpc_commit(deliver->rpc);
}

/* `items`: what came with the leases and must still be sent; or NULL. */
static void take_leases(struct deliver *deliver, struct span leases, const msgpack_object *items)
{
	struct batch *batch = work_new(deliver, sizeof *batch);
	if (!batch) {
		give_back(deliver, leases);
		return;
	}
	batch->count = (unsigned)(leases.size / LEASE_BYTES);
	memcpy(batch->leases, leases.at, leases.size);
	deliver->reports.in_hand += batch->count;
	if (items) take_items(batch, items);
	render(batch);
}

/* The long poll ------------------------------------------------------------------------------------------ */

/* [leases, [items], time of rendering] */
enum { AT_LEASES, AT_ITEMS, AT_MADE, ANSWER_ITEMS };

static bool is_answer(const msgpack_object *answer)
{
	return msgpack_is_array(answer, ANSWER_ITEMS) &&
	       answer->via.array.ptr[AT_LEASES].type == MSGPACK_OBJECT_BIN;
}

/* The process may have been stopped since, which the turn's time does not show, or the disk may have stalled. Nothing may be
 * sent that a subscriber switched off long ago. */
static bool is_fresh(const msgpack_object *made)
{
	mono_us at = {arg_integer(made, 0)};
	int64_t age = mono_since(time_mono(), at).v;
	return age >= 0 && age <= HANDED_FRESH_MS * US_PER_MS;
}

static void on_leases(struct poll *poll, const msgpack_object *answer)
{
	struct deliver *deliver = (struct deliver *)((char *)poll - offsetof(struct deliver, poll));
	if (!is_answer(answer)) return;
	const msgpack_object *items = answer->via.array.ptr;
	struct span           leases = arg_span(&items[AT_LEASES]);
	bool fits = leases.size % LEASE_BYTES == 0 && leases.size <= poll->asked_for * LEASE_BYTES;
	if (leases.size && fits)
		take_leases(deliver, leases, is_fresh(&items[AT_MADE]) ? &items[AT_ITEMS] : NULL);
}

static uint32_t free_places(const struct deliver *deliver)
{
	uint32_t slots = egress_free_slots(deliver->egress);
	uint32_t left = deliver->reports.in_hand < deliver->places
	                    ? deliver->places - deliver->reports.in_hand
	                    : 0;
	return slots < left ? slots : left;
}

dur_us deliver_turn(struct deliver *deliver, mono_us now)
{
	deliver->now = now;
	dur_us wait = send_reports(deliver);
	poll_turn(&deliver->poll, now, free_places(deliver));
	return wait;
}

/* Stopping ------------------------------------------------------------------------------------------------ */

void deliver_stop(struct deliver *deliver)
{
	poll_stop(&deliver->poll);
}

bool deliver_is_idle(const struct deliver *deliver)
{
	return rpc_state(deliver->rpc) != RPC_UP ||
	       (!deliver->poll.is_waiting && deliver->reports.in_hand == 0);
}

void deliver_cut(struct deliver *deliver)
{
	struct attempt_report end = {.what = ATTEMPT_MADE, .error = ATTEMPT_UNREPORTED};
	struct work          *work;
	LIST_FOREACH(work, &deliver->works, link)
	{
		struct attempt *attempt = (struct attempt *)work;
		if (work->asked.on_reply == on_rendered) give_back_unseen((struct batch *)work);
		if (work->job.on_done != on_done || attempt->is_cut) continue;
		attempt->is_cut = true;
		report(deliver, attempt->lease, &end);
	}
}

void deliver_close(struct deliver **deliver_p)
{
	struct deliver *deliver = *deliver_p;
	struct work    *work;
	if (!deliver) return;
	while ((work = LIST_FIRST(&deliver->works)))
		work_free(work);
	reports_close(&deliver->reports);
	free(deliver);
	*deliver_p = NULL;
}

enum err deliver_open(struct deliver **out, struct rpc *rpc, struct egress *egress, uint64_t instance,
                      uint32_t places)
{
	struct deliver *deliver = calloc(1, sizeof *deliver);
	*out = deliver;
	if (!deliver) return ERR_NO_MEMORY;
	deliver->rpc = rpc;
	deliver->egress = egress;
	deliver->places = places;
	deliver->poll = (struct poll){.rpc = rpc,
	                              .message = MSG_DELIVERY_LEASE,
	                              .instance = instance,
	                              .count_max = LEASES_PER_CALL_MAX,
	                              .on_answer = on_leases};
	if (!reports_open(&deliver->reports, &report_kind, rpc, &places)) return OK;
	deliver_close(out);
	return ERR_NO_MEMORY;
}
