/* The look-out over the disk: a loop of small checks, woken only to stop. */
#include "store/caretaker.h"

#include "store/monotonic.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <time.h>

_Static_assert((int)PUSH_MS <= (int)CARETAKER_LOOK_NEAR_MS,
               "the interval of pushes does not make a look late");
enum { HOLD_BYTES_PER_S = 1 << 30 };

struct caretaker {
	struct db      *db;
	struct progress progress;
	int             dir_fd;
	atomic_int      room;
	atomic_bool     error;
	unsigned        look_ms;  /* from one look to the next */
	bool            stopping; /* under the mutex */
	bool            started;
	pthread_mutex_t mutex;
	pthread_cond_t  stop;
	pthread_t       thread;
};

/* Pure: what free space allows, and what is reserved ahead of data.mdb: that is there for finishing and freeing. */
static enum room plan_room(uint64_t free_bytes, bool reserved, uint64_t ahead_bytes)
{
	if (free_bytes >= ROOM_SOFT_FLOOR_BYTES && reserved) return ROOM_FOR_ALL;
	return free_bytes >= ROOM_HARD_FLOOR_BYTES || ahead_bytes >= ROOM_HARD_FLOOR_BYTES ? ROOM_TO_FINISH
	                                                                                   : ROOM_FOR_NOTHING;
}

static void look(struct caretaker *caretaker)
{
	struct statvfs disk;
	if (fstatvfs(caretaker->dir_fd, &disk)) return; /* what was known last still stands */
	uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	caretaker->look_ms = free_bytes < ROOM_NEAR_BYTES ? CARETAKER_LOOK_NEAR_MS : CARETAKER_LOOK_MS;
	bool reserved = db_reserve(caretaker->db, RESERVE_AHEAD_BYTES) == OK;
	atomic_store(&caretaker->room, plan_room(free_bytes, reserved, db_ahead(caretaker->db)));
	if (reserved) db_hold_ahead(caretaker->db, &caretaker->progress); /* for speed, and so at the end */
}

/* Sleeps for so long; false when it is time to end. */
static bool rest(struct caretaker *caretaker, unsigned ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	pthread_mutex_lock(&caretaker->mutex);
	if (!caretaker->stopping) pthread_cond_timedwait(&caretaker->stop, &caretaker->mutex, &until);
	bool go_on = !caretaker->stopping;
	pthread_mutex_unlock(&caretaker->mutex);
	return go_on;
}

static void *caretaker_main(void *data)
{
	struct caretaker *caretaker = data;
	struct db_push    push = {.at = 0};
	int64_t           looked_us = monotonic_us();
	unsigned          ms = PUSH_MS;
	while (rest(caretaker, ms)) {
		if (monotonic_us() - looked_us >=
		    caretaker->look_ms * US_PER_MS) { /* a push may have taken long, too */
			looked_us = monotonic_us();
			look(caretaker);
		}
		if (db_push(caretaker->db, &push, PUSH_BYTES)) atomic_store(&caretaker->error, true);
		ms = push.is_done ? caretaker->look_ms : PUSH_MS;
	}
	return NULL;
}

enum err caretaker_open(struct db *db, int dir_fd, struct caretaker **out)
{
	pthread_condattr_t monotonic;
	struct caretaker  *caretaker = calloc(1, sizeof *caretaker);
	*out = caretaker;
	if (!caretaker) return ERR_NO_MEMORY;
	caretaker->db = db;
	caretaker->look_ms = CARETAKER_LOOK_MS;
	caretaker->dir_fd = dir_fd;
	pthread_mutex_init(&caretaker->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&caretaker->stop, &monotonic);
	pthread_condattr_destroy(&monotonic);
	look(caretaker); /* at once: somebody waits for the start */
	caretaker->progress.bytes_per_s = HOLD_BYTES_PER_S;
	if (pthread_create(&caretaker->thread, NULL, caretaker_main, caretaker)) return ERR_NO_MEMORY;
	caretaker->started = true;
	return OK;
}

enum err caretaker_close(struct caretaker **caretaker_p)
{
	struct caretaker *caretaker = *caretaker_p;
	if (!caretaker) return OK;
	pthread_mutex_lock(&caretaker->mutex);
	caretaker->stopping = true;
	atomic_store(&caretaker->progress.stop, true);
	pthread_cond_signal(&caretaker->stop);
	pthread_mutex_unlock(&caretaker->mutex);
	if (caretaker->started) pthread_join(caretaker->thread, NULL);
	bool error = caretaker_heard_error(caretaker);
	pthread_cond_destroy(&caretaker->stop);
	pthread_mutex_destroy(&caretaker->mutex);
	free(caretaker);
	*caretaker_p = NULL;
	return error ? ERR_IO : OK;
}

enum room caretaker_room(const struct caretaker *caretaker)
{
	return (enum room)atomic_load_explicit(&caretaker->room, memory_order_relaxed);
}

bool caretaker_heard_error(const struct caretaker *caretaker)
{
	return atomic_load_explicit(&caretaker->error, memory_order_relaxed);
}
