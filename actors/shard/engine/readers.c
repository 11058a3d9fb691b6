/* The reader threads of a shard.
 *
 * Life of a job: the writer adds it with readers_add(), queued or held. readers_release() moves held jobs to the queue. A
 * reader takes the first job whose account no other reader works for, so one account's long lists do not delay another
 * account. The reader opens a snapshot, runs the handler and hands each part, sealed as a frame, to the writer, which sends it
 * and frees the job afterwards.
 *
 * Readers of lists run at a low priority: one that holds a lock may not run for many milliseconds. So the writer takes no lock
 * that readers take. Jobs and results pass through handovers; the mutex guards the queue, which only readers use. */
#include "actors/shard/engine/readers_inside.h"

#include "actors/rt/needs.h"
#include "actors/shard/engine/lend.h"

#include <stdlib.h>

const struct readers_plan readers_of_lists = {.threads = READER_THREADS_MAX,
                                              .has_quick = true,
                                              .jobs_max = READER_JOBS_MAX,
                                              .account_max = READER_JOBS_ACCOUNT_MAX,
                                              .public_max = READER_JOBS_IMAGES_MAX,
                                              .public_account_max = READER_JOBS_IMAGE_MAX};
const struct readers_plan readers_of_packages = {.threads = 1,
                                                 .jobs_max = SIGNER_JOBS_MAX,
                                                 .account_max = SIGNER_JOBS_ACCOUNT_MAX,
                                                 .public_max = SIGNER_JOBS_CALLBACKS_MAX,
                                                 .public_account_max = SIGNER_JOBS_CALLBACK_MAX};

static void job_free(struct job *job)
{
	lent_free(&job->lent);
	saved_call_free(&job->kept);
	window_leave(&job->window);
	free(job);
}

static void free_finished(struct readers *readers)
{
	struct handover_item *item = handover_take(&readers->finished);
	while (item) {
		struct job *job = (struct job *)item;
		item = item->next;
		if (job->newer)
			job->newer->older = job->older;
		else
			readers->newest = job->older;
		if (job->older) job->older->newer = job->newer;
		job_free(job);
	}
}

static unsigned waiting_of(const struct readers *readers, const struct call *call, bool is_public)
{
	unsigned count = 0;
	for (const struct job *job = readers->newest; job; job = job->older)
		count += job_is_of(job, call) && (!is_public || call_is_public(&job->kept.call)) &&
		         !atomic_load_explicit(&job->is_taken, memory_order_relaxed);
	return count;
}

/* Does the account have its share of all jobs, or of those that anybody may ask for? A share never exceeds the places left for other
 * accounts. So a place is left for the next account, even if every account before it asks for all it may. */
static bool has_its_share(const struct readers *readers, const struct call *call, bool is_public)
{
	const struct readers_plan *plan = &readers->plan;
	unsigned                   jobs = atomic_load(is_public ? &readers->publics : &readers->jobs);
	unsigned                   most = is_public ? plan->public_max : plan->jobs_max;
	unsigned                   share = is_public ? plan->public_account_max : plan->account_max;
	if (jobs >= most) return true;
	if (jobs < share) return false;
	unsigned count = waiting_of(readers, call, is_public);
	return count >= share || count >= most - jobs;
}

static bool is_full_for(const struct readers *readers, const struct call *call)
{
	/* Jobs of accounts leave room for calls about the whole shard. */
	if (!call->has_account) return atomic_load(&readers->jobs) >= 2 * readers->plan.jobs_max;
	return has_its_share(readers, call, false) ||
	       (call_is_public(call) && has_its_share(readers, call, true));
}

static void hold(struct readers *readers, struct job *job)
{
	job->item.next = NULL;
	*readers->held_last = &job->item;
	readers->held_last = &job->item.next;
}

/* Hands a job over, and wakes a reader that may run it, unless all are at work: they look again before they wait. */
static void begin(struct readers *readers, struct job *job)
{
	bool has_account =
	    job->kept.call.has_account; /* a reader may free nothing of it, but take it at once */
	unsigned i = 0;
	handover_put(&readers->inbox, &job->item);
	while (i < readers->started && ((has_account && !reader_takes_lists(&readers->threads[i])) ||
	                                !reader_wake(&readers->threads[i])))
		i++;
}

static struct job *make_job(struct readers *readers, const struct call *call)
{
	struct job *job = calloc(1, sizeof *job);
	if (!job) return NULL;
	if (saved_call_make(&job->kept, call)) {
		job_free(job);
		return NULL;
	}
	job->older = readers->newest;
	if (job->older) job->older->newer = job;
	readers->newest = job;
	count_job(readers, call, 1);
	return job;
}

enum err readers_add(struct readers *readers, const struct session *session, const struct call *call,
                     wall_us now, const struct lender *at_once)
{
	free_finished(readers);
	if (is_full_for(readers, call)) return ERR_OVERLOADED;
	struct job *job = make_job(readers, call);
	if (!job) return ERR_NO_MEMORY;
	job->peer = session->peer;
	job->window = window_share(session->window);
	job->now = now;
	if (!at_once) {
		hold(readers, job);
		return OK;
	}
	lend_accounts(at_once->accounts, at_once->view, &job->kept.call, &job->lent);
	begin(readers, job);
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
	struct handover_item *item = readers->held;
	readers->held = NULL;
	readers->held_last = &readers->held;
	while (item) {
		struct job *job = (struct job *)item;
		item = item->next;
		if (lender) lend_accounts(lender->accounts, lender->view, &job->kept.call, &job->lent);
		begin(readers, job);
	}
}

int readers_fd(const struct readers *readers)
{
	return readers->wakeup.fd;
}

struct result *readers_next(struct readers *readers)
{
	(void)wakeup_clear(&readers->wakeup);
	free_finished(readers);
	if (!readers->results) readers->results = handover_take(&readers->outbox);
	struct result *result = (struct result *)readers->results;
	if (result) readers->results = result->item.next;
	return result;
}

enum err readers_open(struct store *store, const struct shard_facts *facts, const struct readers_plan *plan,
                      struct readers **out)
{
	struct readers *readers = calloc(1, sizeof *readers);
	if (!readers) return ERR_NO_MEMORY;
	readers->wakeup.fd = -1;
	readers->store = store;
	readers->facts = facts;
	readers->plan = *plan;
	readers->held_last = &readers->held;
	readers->last = &readers->first;
	pthread_mutex_init(&readers->mutex, NULL);
	*out = readers;
	enum err err = list_cache_new(&readers->kept, needs_lists(facts->memory_bound));
	if (err) return err;
	if ((err = wakeup_open(&readers->wakeup))) return err;
	for (unsigned i = 0; i < plan->threads; i++) {
		struct reader *reader = &readers->threads[i];
		reader->readers = readers;
		sem_init(&reader->work, 0, 0);
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
	atomic_store(&readers->stopping, true);
	for (unsigned i = 0; i < readers->started; i++)
		sem_post(&readers->threads[i].work);
	for (unsigned i = 0; i < readers->started; i++)
		pthread_join(readers->threads[i].thread, NULL);
	for (unsigned i = 0; i < READER_THREADS_MAX; i++) {
		store_reader_close(&readers->threads[i].view);
		arena_free(&readers->threads[i].arena);
	}
	while ((result = readers_next(readers)))
		result_free(&result);
	list_cache_free(&readers->kept);
	wakeup_close(&readers->wakeup);
	free_finished(readers);
	pthread_mutex_destroy(&readers->mutex);
	free(readers);
	*readers_p = NULL;
}
