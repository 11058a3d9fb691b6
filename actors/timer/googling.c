/* One shard's passes and classes at Google, from the long poll to the report.
 *
 *   GOOGLE_LEASE ─▶ google/work.c ─▶ GOOGLE_REPORT
 */
#include "actors/timer/googling.h"

#include "actors/timer/google/root_keys.h"
#include "actors/timer/google/work.h"
#include "actors/timer/poll.h"
#include "schemas/api/google.h"
#include "schemas/limits.h"
#include "schemas/wallet/google_job.h"
#include "schemas/wallet/sealing.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { WANTED_AGAIN_MS = 1000, WORK_MS = 9000, IN_HAND_MAX = 32 };
enum { COMPLAINTS_MAX = 64 }; /* further ones are dropped: they come again */
_Static_assert((int)WORK_MS + EGRESS_START_MS + EGRESS_ATTEMPT_MS < (int)LEASE_MS,
               "a call that begins in time is reported before its lease is over");

/* One call at a time, at once. */
static const struct report_kind report_kind = {
    .message = MSG_GOOGLE_REPORT,
    .streams = ARGS_GOOGLE_REPORT,
    .of = {{GOOGLE_REPORT_BYTES, GOOGLE_JOBS_MAX}, {PUSH_COMPLAINT_BYTES, PUSH_NOTES_PER_CALL_MAX}},
    .calls_max = 1,
    .again = {POLL_AGAIN_MS * US_PER_MS}};

struct googling {
	struct googling_options options;
	struct poll             poll;
	LIST_HEAD(, google_work) works;
	struct reports   reports;
	struct root_keys keys;
	mono_us          now;
};

/* Taking an answer ---------------------------------------------------------------------------------------- */

static struct access *open_access(struct googling *googling, const msgpack_object *items,
                                  const struct google_work *work)
{
	struct buffer      plain = {.at = NULL};
	struct wallet_keys keys;
	struct access     *access = NULL;
	struct wallet_seal whose = {.account = work->account,
	                            .kind = WALLET_GOOGLE,
	                            .number = work->number,
	                            .generation = work->generation};
	if (!wallet_unseal(googling->options.key, &whose, arg_span(&items[GOOGLE_AT_SEALED]), &plain,
	                   &keys)) {
		struct access_credential credential = {.account = work->account,
		                                       .email = arg_span(&items[GOOGLE_AT_EMAIL]),
		                                       .token_uri = arg_span(&items[GOOGLE_AT_TOKEN_URI]),
		                                       .key = keys.key};
		if (access_open(googling->options.google, &credential, &access)) access = NULL;
	}
	wallet_keys_forget(&plain);
	return access;
}

static void copy(struct buffer *to, const msgpack_object *from)
{
	struct span text = arg_span(from);
	buffer_append(to, text.at, text.size);
}

/* Is another work of the same object, or class, under way? What `wallet check` tries waits for none. */
static bool is_in_hand(const struct googling *googling, const struct google_work *work)
{
	const struct google_work *other;
	if (work->report.lease.pass_number == PROBE_PASS) return false;
	LIST_FOREACH(other, &googling->works, link)
	if (other != work && span_equal(buffer_span(&other->object_id), buffer_span(&work->object_id)) &&
	    span_equal(buffer_span(&other->class_id), buffer_span(&work->class_id)))
		return true;
	return false;
}

static void take_job(struct googling *googling, const msgpack_object *credentials,
                     const msgpack_object *items)
{
	const msgpack_object *credential = credentials[items[GOOGLE_AT_INDEX].via.u64].via.array.ptr;
	struct google_work   *work = calloc(1, sizeof *work);
	if (!work) return; /* its lease runs out */
	LIST_INSERT_HEAD(&googling->works, work, link);
	work->reports = &googling->reports;
	work->call.due = mono_after(googling->now, (dur_us){WORK_MS * US_PER_MS});
	memcpy(work->account.b, credential[GOOGLE_AT_ACCOUNT].via.bin.ptr, sizeof work->account.b);
	work->number = credential[GOOGLE_AT_NUMBER].via.u64;
	work->generation = (uint32_t)credential[GOOGLE_AT_GENERATION].via.u64;
	work->put.v = arg_integer(&credential[GOOGLE_AT_PUT], 0);
	work->is_doubtful = credential[GOOGLE_AT_DOUBTFUL].via.boolean;
	push_lease_read((const uint8_t *)items[GOOGLE_AT_LEASE].via.bin.ptr, &work->report.lease);
	copy(&work->kind, &items[GOOGLE_AT_KIND]);
	copy(&work->class_id, &items[GOOGLE_AT_CLASS_ID]);
	copy(&work->class, &items[GOOGLE_AT_CLASS]);
	copy(&work->object_id, &items[GOOGLE_AT_OBJECT_ID]);
	copy(&work->object, &items[GOOGLE_AT_OBJECT]);
	copy(&work->message, &items[GOOGLE_AT_MESSAGE]);
	work->report.notification = (uint32_t)items[GOOGLE_AT_NOTIFICATION].via.u64;
	work->may_notify = items[GOOGLE_AT_MAY_NOTIFY].via.boolean;
	work->makes = items[GOOGLE_AT_MAKES].via.boolean;
	googling->reports.in_hand++;
	/* The shard was started again, and knows of no lease: the last of all calls must be the newest. */
	if (is_in_hand(googling, work)) {
		google_work_end(work, GOOGLE_HELD);
		return;
	}
	work->call.access = open_access(googling, credential, work);
	if (work->call.access) {
		google_work_begin(work);
		return;
	}
	google_work_complain(work, PUSH_RESTS, "its key cannot be opened");
	google_work_end(work, GOOGLE_HELD);
}

static void on_leases(struct poll *poll, const msgpack_object *answer)
{
	struct googling *googling = (struct googling *)((char *)poll - offsetof(struct googling, poll));
	if (poll->is_stopping || !google_answer_check(answer, GOOGLE_JOBS_MAX)) return;
	const msgpack_object       *items = answer->via.array.ptr;
	const msgpack_object_array *jobs = &items[GOOGLE_AT_JOBS].via.array;
	googling->keys.is_wanted |= items[GOOGLE_AT_WANTS_KEYS].via.boolean;
	if (googling->keys.is_wanted && !googling->keys.has_named) /* it answers at once until it has them */
		poll->ask_at = mono_after(googling->now, (dur_us){WANTED_AGAIN_MS * US_PER_MS});
	for (uint32_t i = 0; i < jobs->size; i++)
		take_job(googling, items[GOOGLE_AT_CREDENTIALS].via.array.ptr, jobs->ptr[i].via.array.ptr);
}

/* Turns --------------------------------------------------------------------------------------------------- */

dur_us googling_turn(struct googling *googling, mono_us now)
{
	uint32_t in_hand;
	googling->now = now;
	dur_us wait = reports_send(&googling->reports, now, true);
	in_hand = googling->reports.in_hand;
	if (!googling->poll.is_stopping) root_keys_turn(&googling->keys, now);
	poll_turn(&googling->poll, now, in_hand < IN_HAND_MAX ? IN_HAND_MAX - in_hand : 0);
	return wait;
}

void googling_stop(struct googling *googling)
{
	poll_stop(&googling->poll);
}

bool googling_is_idle(const struct googling *googling)
{
	bool is_polling = googling->poll.is_waiting && !googling->poll.is_withdrawn;
	return rpc_state(googling->options.rpc) != RPC_UP ||
	       (LIST_EMPTY(&googling->works) && !reports_waiting(&googling->reports) &&
	        !googling->reports.calling && !is_polling);
}

enum err googling_open(struct googling **out, const struct googling_options *options)
{
	struct googling *googling = *out = calloc(1, sizeof *googling);
	if (!googling) return ERR_NO_MEMORY;
	googling->options = *options;
	googling->poll = (struct poll){.rpc = options->rpc,
	                               .message = MSG_GOOGLE_LEASE,
	                               .instance = options->instance,
	                               .count_max = GOOGLE_JOBS_MAX,
	                               .on_answer = on_leases};
	root_keys_open(&googling->keys, options->rpc, options->egress, options->keys_url);
	LIST_INIT(&googling->works);
	const uint32_t rooms[] = {IN_HAND_MAX + GOOGLE_JOBS_MAX, COMPLAINTS_MAX};
	if (!reports_open(&googling->reports, &report_kind, options->rpc, rooms)) return OK;
	googling_close(out);
	return ERR_NO_MEMORY;
}

void googling_close(struct googling **closed)
{
	struct googling *googling = *closed;
	*closed = NULL;
	if (!googling) return;
	while (!LIST_EMPTY(&googling->works))
		google_work_free(LIST_FIRST(&googling->works));
	reports_close(&googling->reports);
	root_keys_close(&googling->keys);
	free(googling);
}
