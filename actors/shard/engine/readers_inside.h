#pragma once
#include "actors/shard/engine/readers.h"
#include "actors/shard/engine/saved_call.h"
#include "actors/shard/list/cache.h"
#include "store/wakeup.h"

#include <pthread.h>
#include <semaphore.h>

/* Shared by readers.c, the writer's side, and reader_thread.c. */

enum { PAYLOAD_KEPT_BYTES = 256 << 10 };

/* A reader waits for room for its whole result: the largest image, or a part of a list plus one item. */
_Static_assert((int)SESSION_ANSWER_BYTES > (int)SESSION_LIST_BYTES + (int)IMAGE_BYTES_MAX +
                                               (int)REPLY_PART_BYTES_MAX + 2 * (int)ANSWER_RESERVED_BYTES,
               "the window is too small for an image");

struct job {
	struct handover_item
	                  item; /* its first member; while it is held or queued, `next` is that of the list */
	struct peer       peer;
	struct window    *window;
	struct saved_call kept;
	struct lent       lent;
	wall_us           now;
	atomic_bool       is_taken;      /* by a reader */
	struct job       *newer, *older; /* the writer's list of all jobs */
};

struct reader {
	struct readers *readers;
	struct view    *view;
	struct arena    arena;
	struct job     *job;     /* in progress */
	atomic_bool     is_idle; /* it waits, or is about to, until `work` is posted */
	sem_t           work;
	pthread_t       thread;
};

struct readers {
	struct store             *store;
	const struct shard_facts *facts;
	struct readers_plan       plan;
	struct list_cache        *kept;
	struct wakeup             wakeup; /* wakes the writer after each result */

	/* The writer's. */
	struct handover_item *held, **held_last;
	struct handover_item *results; /* taken over, not yet returned */
	struct job           *newest;  /* of all jobs that are not freed */
	unsigned              started;

	/* Between writer and readers. */
	struct handover inbox;         /* jobs to be queued */
	struct handover outbox;        /* results */
	struct handover finished;      /* jobs to be freed */
	atomic_uint     jobs, publics; /* held, queued and in progress; of these, what anybody may ask for */
	atomic_bool     stopping, damage;

	/* The readers'. */
	pthread_mutex_t       mutex;
	struct handover_item *first, **last; /* the queue */
	struct reader         threads[READER_THREADS_MAX];
};

/* In reader_thread.c. reader_takes_lists(): may it run jobs of accounts? reader_wake(): starts an idle reader; false:
 * it was busy. job_is_of(): is the job of the call's account? call_is_public(): may anybody send this call?
 * count_job(): adds `by`, 1 or -1, to the counts of jobs. */
void *reader_main(void *reader);
bool  reader_takes_lists(const struct reader *reader);
bool  reader_wake(struct reader *reader);
bool  job_is_of(const struct job *job, const struct call *call);
bool  call_is_public(const struct call *call);
void  count_job(struct readers *readers, const struct call *call, int by);
