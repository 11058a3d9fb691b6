/* What a reader thread does: it takes jobs from the queue, runs their handlers, and hands over results. */
#include "actors/shard/engine/readers_inside.h"

#include "actors/rt/log.h"
#include "actors/rt/time.h"
#include "store/background.h"

#include <stdlib.h>

/* Results ------------------------------------------------------------------------------------------------- */

struct answer {
	struct readers   *readers;
	const struct job *job;
	struct frame_out  out;
	/* A part found no memory: a shorter list would look complete, so nothing more is sent. */
	bool is_lost;
	bool has_parts;
};

void result_free(struct result **result_p)
{
	struct result *result = *result_p;
	*result_p = NULL;
	if (!result) return;
	window_leave(&result->window);
	buffer_free(&result->frame);
	free(result);
}

/* Takes the filled frame; its bytes are already counted. */
static void put_result(struct answer *answer)
{
	struct result *result = calloc(1, sizeof *result);
	struct span    frame = frame_seal_replies(&answer->out, answer->readers->facts->epoch);
	answer->is_lost |= !result || frame.size == 0;
	if (answer->is_lost) { /* the call ends at the caller's deadline */
		window_drop_list(answer->job->window, answer->out.bytes.size);
		buffer_free(&answer->out.bytes);
		answer->out.count = 0;
		result_free(&result);
		return;
	}
	result->frame = answer->out.bytes;
	answer->out = (struct frame_out){.count = 0};
	result->peer = answer->job->peer;
	result->has_account = answer->job->kept.call.has_account;
	result->account = answer->job->kept.call.account;
	result->window = window_share(answer->job->window);
	handover_put(&answer->readers->outbox, &result->item);
	wakeup_signal(&answer->readers->wakeup);
}

/* Errors: ERR_OVERLOADED: there was no room for it. */
static enum err put_payload(struct answer *answer, enum err err, unsigned flags, struct span field,
                            struct span payload)
{
	const struct call *call = &answer->job->kept.call;
	struct reply       head = {.id = call->id, .err = err, .flags = flags, .field = field};
	if (call->has_key_id) head.key_id = &call->key_id;
	frame_reply_of(&answer->out, &head);
	if (payload.size) {
		buffer_append(&answer->out.bytes, payload.at, payload.size);
	} else {
		msgpack_packer pk = frame_out_packer(&answer->out);
		msgpack_pack_nil(&pk);
	}
	const struct job *job = answer->job;
	size_t            size = answer->out.bytes.size;
	enum err          refusal = OK;
	if (size <= ANSWER_TINY_BYTES)
		window_add_list(job->window, size);
	else
		refusal = window_wait(job->window, size, job->kept.call.deadline);
	if (refusal)
		frame_clear(&answer->out);
	else
		put_result(answer);
	return refusal;
}

static enum err on_part(void *user, struct buffer *payload)
{
	struct answer *answer = user;
	enum err       err = put_payload(answer, OK, REPLY_MORE, span_of(NULL, 0), buffer_span(payload));
	buffer_clear(payload);
	answer->has_parts = true;
	return err;
}

/* Work ---------------------------------------------------------------------------------------------------- */

static enum err run_job(struct readers *readers, struct job *job, struct view *view, struct outcome *outcome)
{
	struct call   *call = &job->kept.call;
	struct request request = {.call = call,
	                          .args = call->args,
	                          .view = view,
	                          .now = job->now,
	                          .facts = readers->facts,
	                          .zone = job->kept.zone,
	                          .kept = readers->kept,
	                          .signer = readers->plan.signer,
	                          .lent = &job->lent};
	mono_us        now = time_mono();
	request.mono = now;
	request.wall = time_wall();
	if (call->deadline.v <= now.v || window_is_stalled(job->window, REPLY_PART_BYTES_MAX, now))
		return ERR_OVERLOADED; /* the caller has given up, or reads no answers */
	enum err err = store_reader_begin(view);
	if (err) return err;
	if (call->has_account) err = account_at(view, &job->lent, call->account, &request.account);
	if (!err) err = handle_request(&request, outcome);
	account_free(&request.account);
	store_reader_end(view);
	return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

/* Logs errors that the request did not cause. The writer also reports damaged tables, for the whole shard. */
static void log_failure(const struct call *call, enum err err)
{
	if (err < ERR_INTERFACE_COUNT && err != ERR_OVERLOADED) return;
	log_info("scan_failed", "message=%s code=%s request_id=%.*s", message_row(call->message)->name,
	         err_code(err), (int)call->request_id.size, (const char *)call->request_id.at);
}

static void answer_job(struct readers *readers, struct view *view, struct job *job, struct buffer *payload)
{
	struct answer  answer = {.readers = readers, .job = job};
	char           text[REASON_TEXT];
	struct outcome outcome = {.payload = payload, .part = on_part, .part_user = &answer, .text = text};
	buffer_clear(payload);
	enum err err = run_job(readers, job, view, &outcome);
	if (err == ERR_OVERLOADED && store_reader_is_too_old(view) && !answer.has_parts) {
		buffer_clear(payload);
		err = run_job(readers, job, view, &outcome); /* once more, of the newest commit */
	}
	if (!err && payload->failed) err = ERR_NO_MEMORY;
	if (err) log_failure(&job->kept.call, err);
	if (err == ERR_DAMAGED) atomic_store(&readers->damage, true);
	if (err) buffer_clear(payload);
	if (err && outcome.message) {
		msgpack_packer pk = buffer_packer(payload);
		pack_text(&pk, outcome.message);
	}
	struct span made = payload->failed ? span_of(NULL, 0) : buffer_span(payload);
	if (put_payload(&answer, err, outcome.flags, outcome.field, made))
		(void)!put_payload(&answer, ERR_OVERLOADED, 0, span_of(NULL, 0), span_of(NULL, 0));
	if (payload->capacity > PAYLOAD_KEPT_BYTES) buffer_free(payload);
	buffer_free(&answer.out.bytes);
}

bool job_is_of(const struct job *job, const struct call *call)
{
	const struct call *own = &job->kept.call;
	return own->has_account && call->has_account && account_same(own->account, call->account);
}

static bool is_served(const struct readers *readers, const struct job *job)
{
	for (unsigned i = 0; i < readers->plan.threads; i++)
		if (readers->threads[i].job && job_is_of(readers->threads[i].job, &job->kept.call))
			return true;
	return false;
}

bool reader_takes_lists(const struct reader *reader)
{
	return !reader->readers->plan.has_quick || reader != &reader->readers->threads[0];
}

static bool may_take(const struct reader *reader, const struct job *job)
{
	return (!job->kept.call.has_account || reader_takes_lists(reader)) &&
	       !is_served(reader->readers, job);
}

/* Where the first job that this reader may run is queued; NULL: none. Call with the mutex held. */
static struct handover_item **find_job(const struct reader *reader)
{
	struct handover_item **at = &reader->readers->first;
	while (*at && !may_take(reader, (const struct job *)*at))
		at = &(*at)->next;
	return *at ? at : NULL;
}

/* True: it was idle, and begins. */
bool reader_wake(struct reader *reader)
{
	if (!atomic_exchange(&reader->is_idle, false)) return false;
	sem_post(&reader->work);
	return true;
}

/* Wakes idle readers that may run a job of the queue. Call with the mutex held. */
static void share_queue(struct readers *readers)
{
	for (unsigned i = 0; i < readers->plan.threads && readers->first; i++)
		if (atomic_load(&readers->threads[i].is_idle) && find_job(&readers->threads[i]))
			(void)reader_wake(&readers->threads[i]);
}

static void queue(struct readers *readers, struct handover_item *items)
{
	*readers->last = items;
	while (*readers->last)
		readers->last = &(*readers->last)->next;
}

static void take_job(struct reader *reader)
{
	struct readers *readers = reader->readers;
	pthread_mutex_lock(&readers->mutex);
	queue(readers, handover_take(&readers->inbox));
	struct handover_item **at = find_job(reader);
	reader->job = at ? (struct job *)*at : NULL;
	if (at && !(*at = (*at)->next)) readers->last = at;
	if (at) share_queue(readers);
	pthread_mutex_unlock(&readers->mutex);
	if (reader->job) atomic_store_explicit(&reader->job->is_taken, true, memory_order_relaxed);
}

/* Takes nothing: a thread that wakes this reader meanwhile, because it looks idle, wakes no other. */
static bool sees_job(struct reader *reader)
{
	struct readers *readers = reader->readers;
	pthread_mutex_lock(&readers->mutex);
	queue(readers, handover_take(&readers->inbox));
	bool sees = find_job(reader) != NULL;
	pthread_mutex_unlock(&readers->mutex);
	return sees;
}

/* A reader says that it is idle before it looks for the last time. The writer fills the inbox, and another reader the queue,
 * before they look for an idle reader. So one of them sees the other. */
static struct job *next_job(struct reader *reader)
{
	struct readers *readers = reader->readers;
	for (;;) {
		bool stopping = atomic_load(&readers->stopping);
		take_job(reader);
		if (reader->job || stopping) return reader->job;
		atomic_store(&reader->is_idle, true);
		if (!sees_job(reader) && !atomic_load(&readers->stopping))
			while (sem_wait(&reader->work))
				continue;
		atomic_store(&reader->is_idle, false);
	}
}

bool call_is_public(const struct call *call)
{
	return call->message == MSG_PASS_IMAGE || call->message == MSG_WALLET_KIT ||
	       call->message == MSG_WALLET_GOOGLE_CHECK;
}

/* `by` is 1 or -1. */
void count_job(struct readers *readers, const struct call *call, int by)
{
	atomic_fetch_add(&readers->jobs, (unsigned)by);
	if (call_is_public(call)) atomic_fetch_add(&readers->publics, (unsigned)by);
}

static void job_done(struct reader *reader)
{
	struct readers *readers = reader->readers;
	struct job     *job = reader->job;
	pthread_mutex_lock(&readers->mutex);
	reader->job = NULL;
	pthread_mutex_unlock(&readers->mutex);
	count_job(readers, &job->kept.call, -1);
	handover_put(&readers->finished, &job->item);
}

void *reader_main(void *data)
{
	struct reader  *reader = data;
	struct readers *readers = reader->readers;
	struct buffer   payload = {0};
	struct job     *job;
	if (reader_takes_lists(reader)) background_thread();
	while ((job = next_job(reader))) {
		answer_job(readers, reader->view, job, &payload);
		arena_reset(&reader->arena);
		job_done(reader);
	}
	buffer_free(&payload);
	return NULL;
}
