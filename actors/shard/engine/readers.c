/* The reader threads of a shard.
 *
 * Life of a job: the writer adds it with readers_add(), queued or held. readers_release() moves held jobs to the queue. A
 * reader takes the first job whose account no other reader works for, so one account's long lists do not delay another
 * account. The reader opens a snapshot, runs the handler and puts each part, sealed as a frame, into the queue of results. The
 * writer sends the results. One mutex guards both queues. */
#include "actors/shard/engine/readers.h"

#include "actors/rt/log.h"
#include "actors/rt/time.h"
#include "actors/shard/list/cache.h"
#include "actors/shard/engine/saved_call.h"
#include "actors/shard/engine/lend.h"
#include "store/background.h"
#include "store/wakeup.h"

#include <pthread.h>
#include <stdlib.h>

/* The first reader takes no jobs of accounts. So calls about the whole shard, such as rendering deliveries, never wait for
 * long lists. */
enum { READER_THREADS = 3, PAYLOAD_KEPT_BYTES = 256 << 10 };

/* A reader waits for room for its whole result: the largest image, or a part of a list plus one item. */
_Static_assert((int)SESSION_LIST_BYTES > (int)IMAGE_BYTES_MAX + (int)REPLY_PART_BYTES_MAX,
               "the window is too small for an image");

struct job {
	struct peer       peer;
	struct window    *window;
	struct saved_call kept;
	struct lent       lent;
	wall_us           now;
	struct job       *next;
};

struct reader {
	struct readers *readers;
	struct view    *view;
	struct arena    arena;
	struct job     *job; /* in progress */
	pthread_t       thread;
};

struct readers {
	struct store             *store;
	const struct shard_facts *facts;
	struct list_cache        *kept;
	struct wakeup             wakeup;           /* wakes the writer after each result */
	bool                      may_have_results; /* the writer's, like the next line */
	struct job               *held, **held_last;
	pthread_mutex_t           mutex;
	pthread_cond_t            work;
	struct job               *first, **last;
	struct result            *done, **done_last;
	atomic_bool               damage;
	unsigned                  jobs, images; /* held, queued and in progress; of these, for images */
	bool                      stopping;
	unsigned                  started;
	struct reader             threads[READER_THREADS];
};

static void job_free(struct job *job)
{
	lent_free(&job->lent);
	saved_call_free(&job->kept);
	window_leave(&job->window);
	free(job);
}

/* Results ------------------------------------------------------------------------------------------------- */

struct answer {
	struct readers   *readers;
	const struct job *job;
	struct frame_out  out;
	/* A part found no memory: a shorter list would look complete, so nothing more is sent. */
	bool is_lost;
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
		window_drop(answer->job->window, answer->out.bytes.size);
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
	pthread_mutex_lock(&answer->readers->mutex);
	*answer->readers->done_last = result;
	answer->readers->done_last = &result->next;
	pthread_mutex_unlock(&answer->readers->mutex);
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
		window_add(job->window, size);
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
	enum err err = put_payload(user, OK, REPLY_MORE, span_of(NULL, 0), buffer_span(payload));
	buffer_clear(payload);
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
	                          .lent = &job->lent};
	mono_us        now = time_mono();
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

static bool is_of(const struct job *job, const struct call *call)
{
	const struct call *own = &job->kept.call;
	return own->has_account && call->has_account &&
	       !memcmp(own->account.b, call->account.b, sizeof call->account.b);
}

static bool is_served(const struct readers *readers, const struct job *job)
{
	for (unsigned i = 0; i < READER_THREADS; i++)
		if (readers->threads[i].job && is_of(readers->threads[i].job, &job->kept.call)) return true;
	return false;
}

static bool takes_lists(const struct reader *reader)
{
	return reader != &reader->readers->threads[0];
}

/* Takes the first job that this reader may run; NULL: none. */
static struct job *take_job(const struct reader *reader)
{
	struct readers *readers = reader->readers;
	struct job    **at = &readers->first;
	while (*at && (((*at)->kept.call.has_account && !takes_lists(reader)) || is_served(readers, *at)))
		at = &(*at)->next;
	struct job *job = *at;
	if (job && !(*at = job->next)) readers->last = at;
	return job;
}

static struct job *next_job(struct reader *reader)
{
	struct readers *readers = reader->readers;
	pthread_mutex_lock(&readers->mutex);
	while (!(reader->job = take_job(reader)) && !readers->stopping)
		pthread_cond_wait(&readers->work, &readers->mutex);
	pthread_mutex_unlock(&readers->mutex);
	return reader->job;
}

static bool is_image(const struct call *call)
{
	return call->message == MSG_PASS_IMAGE;
}

/* Call with the mutex held; `by` is 1 or -1. */
static void count_job(struct readers *readers, const struct call *call, int by)
{
	readers->jobs += (unsigned)by;
	if (is_image(call)) readers->images += (unsigned)by;
}

static void job_done(struct reader *reader)
{
	struct readers *readers = reader->readers;
	pthread_mutex_lock(&readers->mutex);
	struct job *job = reader->job;
	reader->job = NULL;
	count_job(readers, &job->kept.call, -1);
	pthread_cond_broadcast(&readers->work); /* the account's next job may be taken now */
	pthread_mutex_unlock(&readers->mutex);
	job_free(job);
}

static void *reader_main(void *data)
{
	struct reader  *reader = data;
	struct readers *readers = reader->readers;
	struct buffer   payload = {0};
	struct job     *job;
	if (takes_lists(reader)) background_thread();
	while ((job = next_job(reader))) {
		answer_job(readers, reader->view, job, &payload);
		arena_reset(&reader->arena);
		job_done(reader);
	}
	buffer_free(&payload);
	return NULL;
}

/* The writer's side --------------------------------------------------------------------------------------- */

/* Does the account have its share of waiting jobs? A share never exceeds the places left for other accounts. So a place is
 * left for the next account, even if every account before it asks for all it may. */
static bool has_its_share(const struct readers *readers, const struct call *call)
{
	unsigned count = 0, share = is_image(call) ? READER_JOBS_IMAGE_MAX : READER_JOBS_ACCOUNT_MAX;
	if (readers->jobs < share) return false;
	for (const struct job *job = readers->first; job; job = job->next)
		count += is_of(job, call);
	for (const struct job *job = readers->held; job; job = job->next)
		count += is_of(job, call);
	return count >= share || count >= READER_JOBS_MAX - readers->jobs;
}

static bool is_full_for(const struct readers *readers, const struct call *call)
{
	/* Jobs of accounts leave room for calls about the whole shard. */
	if (!call->has_account) return readers->jobs >= 2 * READER_JOBS_MAX;
	if (readers->jobs >= READER_JOBS_MAX) return true;
	if (is_image(call) && readers->images >= READER_JOBS_IMAGES_MAX) return true;
	return has_its_share(readers, call);
}

static void hold(struct readers *readers, struct job *job)
{
	*readers->held_last = job;
	readers->held_last = &job->next;
}

static void begin(struct readers *readers, struct job *job, struct job **last)
{
	pthread_mutex_lock(&readers->mutex);
	*readers->last = job;
	readers->last = last;
	pthread_cond_broadcast(&readers->work);
	pthread_mutex_unlock(&readers->mutex);
}

enum err readers_add(struct readers *readers, const struct session *session, const struct call *call,
                     wall_us now, const struct lender *at_once)
{
	pthread_mutex_lock(&readers->mutex);
	bool full = is_full_for(readers, call);
	if (!full) count_job(readers, call, 1);
	pthread_mutex_unlock(&readers->mutex);
	if (full) return ERR_OVERLOADED;
	struct job *job = calloc(1, sizeof *job);
	if (!job || saved_call_make(&job->kept, call)) {
		if (job) job_free(job);
		pthread_mutex_lock(&readers->mutex);
		count_job(readers, call, -1);
		pthread_mutex_unlock(&readers->mutex);
		return ERR_NO_MEMORY;
	}
	job->peer = session->peer;
	job->window = window_share(session->window);
	job->now = now;
	if (!at_once) {
		hold(readers, job);
		return OK;
	}
	lend_accounts(at_once->accounts, at_once->view, &job->kept.call, &job->lent);
	begin(readers, job, &job->next);
	return OK;
}

bool readers_found_damage(const struct readers *readers)
{
	return atomic_load_explicit(&readers->damage, memory_order_relaxed);
}

bool readers_waiting(const struct readers *readers)
{
	return readers->held != NULL;
}

void readers_release(struct readers *readers, const struct lender *lender)
{
	if (!readers->held) return;
	for (struct job *job = readers->held; job && lender; job = job->next)
		lend_accounts(lender->accounts, lender->view, &job->kept.call, &job->lent);
	begin(readers, readers->held, readers->held_last);
	readers->held = NULL;
	readers->held_last = &readers->held;
}

int readers_fd(const struct readers *readers)
{
	return readers->wakeup.fd;
}

struct result *readers_next(struct readers *readers)
{
	if (wakeup_clear(&readers->wakeup)) readers->may_have_results = true;
	if (!readers->may_have_results) return NULL;
	pthread_mutex_lock(&readers->mutex);
	struct result *result = readers->done;
	if (result && !(readers->done = result->next)) readers->done_last = &readers->done;
	pthread_mutex_unlock(&readers->mutex);
	readers->may_have_results = result != NULL;
	return result;
}

enum err readers_open(struct store *store, const struct shard_facts *facts, struct readers **out)
{
	struct readers *readers = calloc(1, sizeof *readers);
	if (!readers) return ERR_NO_MEMORY;
	readers->wakeup.fd = -1;
	readers->store = store;
	readers->facts = facts;
	readers->held_last = &readers->held;
	readers->last = &readers->first;
	readers->done_last = &readers->done;
	pthread_mutex_init(&readers->mutex, NULL);
	pthread_cond_init(&readers->work, NULL);
	*out = readers;
	enum err err = list_cache_new(&readers->kept);
	if (err) return err;
	if ((err = wakeup_open(&readers->wakeup))) return err;
	for (unsigned i = 0; i < READER_THREADS; i++) {
		struct reader *reader = &readers->threads[i];
		reader->readers = readers;
		if ((err = store_reader_open(store, &reader->arena, &reader->view))) return err;
		if (pthread_create(&reader->thread, NULL, reader_main, reader)) return ERR_NO_MEMORY;
		readers->started++;
	}
	return OK;
}

void readers_close(struct readers **readers_p)
{
	struct readers *readers = *readers_p;
	struct result  *result;
	if (!readers) return;
	readers_release(readers, NULL);
	pthread_mutex_lock(&readers->mutex);
	readers->stopping = true;
	pthread_cond_broadcast(&readers->work);
	pthread_mutex_unlock(&readers->mutex);
	for (unsigned i = 0; i < readers->started; i++)
		pthread_join(readers->threads[i].thread, NULL);
	for (unsigned i = 0; i < READER_THREADS; i++) {
		store_reader_close(&readers->threads[i].view);
		arena_free(&readers->threads[i].arena);
	}
	while ((result = readers_next(readers)))
		result_free(&result);
	list_cache_free(&readers->kept);
	wakeup_close(&readers->wakeup);
	pthread_mutex_destroy(&readers->mutex);
	pthread_cond_destroy(&readers->work);
	free(readers);
	*readers_p = NULL;
}
