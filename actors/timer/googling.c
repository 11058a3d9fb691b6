/* One shard's passes and classes at Google, from the long poll to the report.
 *
 *   GOOGLE_LEASE ─▶ the class, if it looks different than when it was written last ─▶ the message, if there is a new one
 *                ─▶ the object, if it is of one ─▶ GOOGLE_REPORT
 *
 * A class or an object is written by PATCH. A class that Google has not is made by POST, as is an object that a link is to name. */
#include "actors/timer/googling.h"

#include "actors/timer/google/root_keys.h"
#include "schemas/api/wallet.h"
#include "schemas/limits.h"
#include "schemas/wallet/google_job.h"
#include "schemas/wallet/sealing.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { ASK_AGAIN_MS = 200, WANTED_AGAIN_MS = 1000, WORK_MS = 9000, IN_HAND_MAX = 32 };
_Static_assert((int)WORK_MS + EGRESS_START_MS + EGRESS_ATTEMPT_MS < (int)LEASE_MS,
               "a call that begins in time is reported before its lease is over");

enum step {
	STEP_LIST,
	STEP_CLASS,
	STEP_CLASS_MADE,
	STEP_MESSAGE,
	STEP_MESSAGE_SILENT,
	STEP_OBJECT,
	STEP_OBJECT_MADE
};

struct google_work {
	LIST_ENTRY(google_work) link;
	struct googling     *of;
	struct google_call   call;
	struct account_id    account; /* in whose rows the credential is, and which it is */
	uint64_t             number;
	uint32_t             generation;
	wall_us              put;
	bool                 is_doubtful;
	enum step            step;
	struct google_report report;
	struct buffer        kind, class_id, class, object_id, object, message; /* as leased */
	struct buffer        path, body;                                        /* of the call */
	bool                 may_notify, is_renewed; /* it has had a new access token */
	bool                 has_made;               /* it has tried to make the class */
	bool                 makes, has_made_object; /* the object is made, too; it has tried */
	bool                 has_begun;              /* a call of it has ended */
};
LIST_HEAD(google_works, google_work);

struct googling {
	struct googling_options options;
	struct asked            lease_poll, withdrawal, reporting;
	struct google_works     works;
	struct buffer           reports, complaints; /* not sent yet */
	struct buffer           sent, sent_complaints;
	struct root_keys        keys;
	bool                    is_polling, is_stopping, is_withdrawn, is_reporting;
	uint32_t                in_hand;
	mono_us                 ask_at, report_at, now;
};

/* Calls of the shard -------------------------------------------------------------------------------------- */

static bool call_shard(struct googling *googling, enum message message, int64_t wait_ms, struct asked *asked,
                       msgpack_packer *packer)
{
	struct call call = {.message = message,
	                    .deadline = mono_after(googling->now, (dur_us){wait_ms * US_PER_MS})};
	return rpc_begin(googling->options.rpc, &call, asked, packer) == OK;
}

/* Ends ---------------------------------------------------------------------------------------------------- */

static void work_free(struct google_work *work)
{
	struct buffer *const texts[] = {&work->kind,   &work->class_id, &work->class, &work->object_id,
	                                &work->object, &work->message,  &work->path,  &work->body};
	LIST_REMOVE(work, link);
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
		buffer_free(texts[i]);
	free(work);
}

static void complain(struct google_work *work, enum push_complaint_kind kind, const char *reason)
{
	uint8_t               bytes[PUSH_COMPLAINT_BYTES];
	struct push_complaint complaint = {.kind = kind,
	                                   .account = work->account,
	                                   .number = work->number,
	                                   .generation = work->generation,
	                                   .put = work->put};
	if (work->of->complaints.size >= PUSH_NOTES_PER_CALL_MAX * PUSH_COMPLAINT_BYTES) return;
	snprintf(complaint.reason, sizeof complaint.reason, "%s", reason);
	push_complaint_write(&complaint, bytes);
	buffer_append(&work->of->complaints, bytes, sizeof bytes);
}

static void end(struct google_work *work, enum google_fate fate)
{
	uint8_t bytes[GOOGLE_REPORT_BYTES];
	work->report.fate = fate;
	google_report_write(&work->report, bytes);
	buffer_append(&work->of->reports, bytes, sizeof bytes);
	work_free(work);
}

/* Steps --------------------------------------------------------------------------------------------------- */

static void begin_step(struct google_work *work);

static void set_call(struct google_work *work, const char *method, const char *noun, struct span id,
                     const char *verb)
{
	buffer_clear(&work->path);
	buffer_append(&work->path, work->kind.at, work->kind.size);
	buffer_text(&work->path, noun);
	if (id.size) buffer_byte(&work->path, '/');
	buffer_append(&work->path, id.at, id.size);
	buffer_text(&work->path, verb);
	work->call.method = method;
	work->call.path = buffer_span(&work->path);
}

static void set_message(struct google_work *work, bool notifies)
{
	buffer_clear(&work->body);
	buffer_text(&work->body, "{\"message\":{");
	buffer_append(&work->body, work->message.at, work->message.size);
	buffer_text(&work->body, ",\"messageType\":");
	buffer_text(&work->body, notifies ? "\"TEXT_AND_NOTIFY\"}}" : "\"TEXT\"}}");
	work->call.body = buffer_span(&work->body);
	set_call(work, "POST", "Object", buffer_span(&work->object_id), "/addMessage");
}

static void next_step(struct google_work *work)
{
	bool has_message = work->message.size && work->step <= STEP_CLASS_MADE;
	if (!work->object.size) {
		end(work, GOOGLE_DONE);
		return;
	}
	work->step = !has_message ? STEP_OBJECT : work->may_notify ? STEP_MESSAGE : STEP_MESSAGE_SILENT;
	begin_step(work);
}

static void begin_step(struct google_work *work)
{
	switch (work->step) {
	case STEP_LIST:
		work->call.body = span_of(NULL, 0);
		set_call(work, "GET", "Class?maxResults=1&issuerId=", span_of("", 0), "");
		buffer_append(&work->path, work->class_id.at, work->class_id.size);
		work->call.path = buffer_span(&work->path);
		break;
	case STEP_CLASS:
		work->call.body = buffer_span(&work->class);
		set_call(work, "PATCH", "Class", buffer_span(&work->class_id), "");
		break;
	case STEP_CLASS_MADE:
		work->call.body = buffer_span(&work->class);
		set_call(work, "POST", "Class", span_of("", 0), "");
		break;
	case STEP_MESSAGE:
	case STEP_MESSAGE_SILENT: set_message(work, work->step == STEP_MESSAGE); break;
	case STEP_OBJECT:
		work->call.body = buffer_span(&work->object);
		set_call(work, "PATCH", "Object", buffer_span(&work->object_id), "");
		break;
	case STEP_OBJECT_MADE:
		work->call.body = buffer_span(&work->object);
		set_call(work, "POST", "Object", span_of("", 0), "");
		break;
	}
	if (work->path.failed || work->body.failed)
		end(work, GOOGLE_AGAIN);
	else if (work->has_begun)
		google_call_next(work->call.access, &work->call);
	else
		google_call(work->call.access, &work->call);
}

static void take_success(struct google_work *work, struct span body)
{
	if (work->is_doubtful) complain(work, PUSH_WORKS, "");
	work->is_doubtful = false;
	switch (work->step) {
	case STEP_CLASS:
	case STEP_CLASS_MADE:
		google_note_class(work->call.access, buffer_span(&work->class_id), buffer_span(&work->class));
		break;
	case STEP_LIST: break;
	case STEP_MESSAGE: work->report.message = GOOGLE_MESSAGE_NOTIFIED; break;
	case STEP_MESSAGE_SILENT: work->report.message = GOOGLE_MESSAGE_SILENT; break;
	case STEP_OBJECT:
	case STEP_OBJECT_MADE:
		work->report.users = google_users_of(body);
		end(work, GOOGLE_DONE);
		return;
	}
	next_step(work);
}

static void complain_of(struct google_work *work, int status, const char *reason)
{
	static const char *const steps[] = {"classes", "class",  "class", "message",
	                                    "message", "object", "object"};
	char                     text[PUSH_REASON_TEXT];
	bool                     is_refused = status == 401 || status == 403;
	snprintf(text, sizeof text, "%s: %s", steps[work->step], reason);
	if (status)
		snprintf(text, sizeof text, "%s: status %d%s%s", steps[work->step], status,
		         *reason ? ", " : "", reason);
	complain(work, is_refused ? PUSH_RESTS : PUSH_COMPLAINS, text);
}

/* A status that is none of success. */
static void take_failure(struct google_work *work, int status, const char *reason)
{
	/* The access token held no more; the next call has a new one. */
	if (status == 401 && !*reason && !work->is_renewed) {
		work->is_renewed = true;
		begin_step(work);
		return;
	}
	if (status == 404 && work->step == STEP_CLASS && !work->has_made) {
		work->has_made = true;
		work->step = STEP_CLASS_MADE;
		begin_step(work);
		return;
	}
	if (status == 409 && work->step == STEP_CLASS_MADE) { /* another process has made it */
		work->step = STEP_CLASS;
		begin_step(work);
		return;
	}
	if (status == 404 && work->step == STEP_OBJECT && work->makes && !work->has_made_object) {
		work->has_made_object = true;
		work->step = STEP_OBJECT_MADE;
		begin_step(work);
		return;
	}
	if (status == 409 && work->step == STEP_OBJECT_MADE) { /* a link has brought it */
		work->step = STEP_OBJECT;
		begin_step(work);
		return;
	}
	/* The holder has had three notices today, says Google: a message without one is better than none. */
	if ((status == 429 || status == 403) && work->step == STEP_MESSAGE) {
		work->step = STEP_MESSAGE_SILENT;
		begin_step(work);
		return;
	}
	if (status == CALL_NOT_BEGUN) { /* its turn did not come */
		end(work, GOOGLE_HELD);
		return;
	}
	if (status == 404 && work->step > STEP_CLASS_MADE) {
		end(work, GOOGLE_ABSENT);
		return;
	}
	bool is_message = work->step == STEP_MESSAGE || work->step == STEP_MESSAGE_SILENT;
	bool is_for_good = status >= 400 && status < 500 && status != 401 && status != 403 && status != 408 &&
	                   status != 429;
	if (is_message && is_for_good) { /* the object is written without it; 409: it was sent before */
		if (status != 409) complain_of(work, status, reason);
		work->report.message = GOOGLE_MESSAGE_SILENT;
		work->step = STEP_OBJECT;
		begin_step(work);
		return;
	}
	bool is_refused = status == 401 || status == 403;
	bool is_for_now = !status || status >= 500 || status == 429 || status == 408;
	complain_of(work, status, reason);
	end(work, is_refused ? GOOGLE_HELD : is_for_now ? GOOGLE_AGAIN : GOOGLE_REFUSED);
}

static void on_called(struct google_call *call, int status, struct span body, const char *reason)
{
	struct google_work *work = (struct google_work *)((char *)call - offsetof(struct google_work, call));
	work->has_begun = true;
	if (status >= 200 && status <= 299)
		take_success(work, body);
	else
		take_failure(work, status, reason);
}

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

static void take_job(struct googling *googling, const msgpack_object *credentials,
                     const msgpack_object *items)
{
	const msgpack_object *credential = credentials[items[GOOGLE_AT_INDEX].via.u64].via.array.ptr;
	struct google_work   *work = calloc(1, sizeof *work);
	if (!work) return; /* its lease runs out */
	LIST_INSERT_HEAD(&googling->works, work, link);
	work->of = googling;
	work->call.on_done = on_called;
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
	googling->in_hand++;
	work->call.access = open_access(googling, credential, work);
	if (!work->call.access) {
		complain(work, PUSH_RESTS, "its key cannot be opened");
		end(work, GOOGLE_HELD);
		return;
	}
	work->step = work->class.size ? STEP_CLASS : STEP_LIST;
	bool is_probe = work->report.lease.pass_number == PROBE_PASS;
	if (!is_probe &&
	    google_knows_class(work->call.access, buffer_span(&work->class_id), buffer_span(&work->class)))
		next_step(work);
	else
		begin_step(work);
}

static void on_leases(struct asked *asked, const struct reply *reply)
{
	struct googling *googling = (struct googling *)((char *)asked -
	                                                offsetof(struct googling, lease_poll));
	googling->is_polling = false;
	if (reply->err) googling->ask_at = mono_after(googling->now, (dur_us){ASK_AGAIN_MS * US_PER_MS});
	if (reply->err || googling->is_stopping || !google_answer_check(reply->payload, GOOGLE_JOBS_MAX))
		return;
	const msgpack_object       *answer = reply->payload->via.array.ptr;
	const msgpack_object_array *jobs = &answer[GOOGLE_AT_JOBS].via.array;
	googling->keys.is_wanted |= answer[GOOGLE_AT_WANTS_KEYS].via.boolean;
	if (googling->keys.is_wanted && !googling->keys.has_named) /* it answers at once until it has them */
		googling->ask_at = mono_after(googling->now, (dur_us){WANTED_AGAIN_MS * US_PER_MS});
	for (uint32_t i = 0; i < jobs->size; i++)
		take_job(googling, answer[GOOGLE_AT_CREDENTIALS].via.array.ptr, jobs->ptr[i].via.array.ptr);
}

static void ask_for(struct googling *googling, uint32_t count, struct asked *asked)
{
	msgpack_packer packer;
	if (!call_shard(googling, MSG_GOOGLE_LEASE, LEASE_ASK_MS, asked, &packer)) return;
	msgpack_pack_array(&packer, ARGS_GOOGLE_LEASE);
	pack_int(&packer, (int64_t)googling->options.instance);
	msgpack_pack_uint32(&packer, count);
	rpc_commit(googling->options.rpc);
	googling->is_withdrawn = count == 0;
	googling->is_polling = true;
}

/* Reports ------------------------------------------------------------------------------------------------- */

static void take(struct buffer *from, size_t size_max, struct buffer *to)
{
	size_t size = from->size < size_max ? from->size : size_max;
	buffer_clear(to);
	if (!size) return;
	buffer_append(to, from->at, size);
	memmove(from->at, from->at + size, from->size - size);
	from->size -= size;
}

/* Reports that the shard did not receive or could not store are repeated. */
static void on_reported(struct asked *asked, const struct reply *reply)
{
	struct googling *googling = (struct googling *)((char *)asked - offsetof(struct googling, reporting));
	googling->is_reporting = false;
	if (reply->err && reply->err != ERR_MALFORMED) {
		buffer_append(&googling->reports, googling->sent.at, googling->sent.size);
		buffer_append(&googling->complaints, googling->sent_complaints.at,
		              googling->sent_complaints.size);
		googling->report_at = mono_after(googling->now, (dur_us){ASK_AGAIN_MS * US_PER_MS});
		return;
	}
	googling->in_hand -= (uint32_t)(googling->sent.size / GOOGLE_REPORT_BYTES);
}

static void report(struct googling *googling)
{
	msgpack_packer packer;
	bool           has_any = googling->reports.size || googling->complaints.size;
	if (!has_any || googling->is_reporting || googling->now.v < googling->report_at.v) return;
	if (!call_shard(googling, MSG_GOOGLE_REPORT, CALL_DEADLINE_MS, &googling->reporting, &packer)) return;
	take(&googling->reports, (size_t)GOOGLE_JOBS_MAX * GOOGLE_REPORT_BYTES, &googling->sent);
	take(&googling->complaints, (size_t)PUSH_NOTES_PER_CALL_MAX * PUSH_COMPLAINT_BYTES,
	     &googling->sent_complaints);
	msgpack_pack_array(&packer, ARGS_GOOGLE_REPORT);
	pack_bin(&packer, buffer_span(&googling->sent));
	pack_bin(&packer, buffer_span(&googling->sent_complaints));
	rpc_commit(googling->options.rpc);
	googling->is_reporting = true;
}

/* Turns --------------------------------------------------------------------------------------------------- */

dur_us googling_turn(struct googling *googling, mono_us now)
{
	googling->now = now;
	report(googling);
	if (googling->is_stopping) {
		if (googling->is_polling && !googling->is_withdrawn)
			ask_for(googling, 0, &googling->withdrawal);
		return (dur_us){INT64_MAX};
	}
	root_keys_turn(&googling->keys, now);
	if (!googling->is_polling && now.v >= googling->ask_at.v && googling->in_hand < IN_HAND_MAX) {
		uint32_t count = IN_HAND_MAX - googling->in_hand;
		ask_for(googling, count < GOOGLE_JOBS_MAX ? count : GOOGLE_JOBS_MAX, &googling->lease_poll);
	}
	return (dur_us){INT64_MAX};
}

/* The withdrawn poll gets its own answer. */
static void on_withdrawn(struct asked *asked, const struct reply *reply)
{
	(void)asked, (void)reply;
}

void googling_stop(struct googling *googling)
{
	googling->is_stopping = true;
}

bool googling_is_idle(const struct googling *googling)
{
	bool is_polling = googling->is_polling && !googling->is_withdrawn;
	return rpc_state(googling->options.rpc) != RPC_UP ||
	       (LIST_EMPTY(&googling->works) && !googling->reports.size && !googling->is_reporting &&
	        !is_polling);
}

enum err googling_open(struct googling **out, const struct googling_options *options)
{
	struct googling *googling = *out = calloc(1, sizeof *googling);
	if (!googling) return ERR_NO_MEMORY;
	googling->options = *options;
	googling->lease_poll.on_reply = on_leases;
	googling->withdrawal.on_reply = on_withdrawn;
	googling->reporting.on_reply = on_reported;
	root_keys_open(&googling->keys, options->rpc, options->egress, options->keys_url);
	LIST_INIT(&googling->works);
	if (buffer_reserve(&googling->reports, (size_t)IN_HAND_MAX * GOOGLE_REPORT_BYTES)) return OK;
	googling_close(out);
	return ERR_NO_MEMORY;
}

void googling_close(struct googling **closed)
{
	struct googling *googling = *closed;
	*closed = NULL;
	if (!googling) return;
	while (!LIST_EMPTY(&googling->works))
		work_free(LIST_FIRST(&googling->works));
	buffer_free(&googling->reports);
	buffer_free(&googling->complaints);
	buffer_free(&googling->sent);
	buffer_free(&googling->sent_complaints);
	root_keys_close(&googling->keys);
	free(googling);
}
