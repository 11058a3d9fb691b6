/* Watches the disk: a loop of small checks, woken only to stop. */
#include "store/disk_monitor.h"

#include "store/monotonic.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <time.h>

_Static_assert((int)PUSH_MS <= (int)CARETAKER_LOOK_NEAR_MS,
               "the interval of pushes does not make a look late");
enum { HOLD_BYTES_PER_S = 1 << 30 };

struct disk_monitor {
	struct db       *db;
	struct progress  progress;
	int              dir_fd;
	atomic_int       room;
	atomic_int       error_number;
	bool             has_links; /* a file that exists has one, which some file systems do not say */
	atomic_bool      is_removed;
	_Atomic uint64_t owed;     /* bytes for rows that are in memory alone */
	unsigned         look_ms;  /* between two measurements */
	bool             stopping; /* under the mutex */
	bool             started;
	pthread_mutex_t  mutex;
	pthread_cond_t   stop;
	pthread_t        thread;
};

/* Pure: the level for the free space and the space reserved ahead of data.mdb, which serves finishing and freeing. */
static enum disk_level plan_room(uint64_t free_bytes, bool reserved, uint64_t ahead_bytes)
{
	if (free_bytes >= DISK_SOFT_FLOOR_BYTES && reserved) return DISK_FOR_ALL;
	return free_bytes >= DISK_HARD_FLOOR_BYTES || ahead_bytes >= DISK_HARD_FLOOR_BYTES ? DISK_TO_FINISH
	                                                                                   : DISK_FOR_NOTHING;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void look(struct disk_monitor *disk_monitor)
{
	struct statvfs disk;
	if (disk_monitor->has_links && db_is_removed(disk_monitor->db))
		atomic_store(&disk_monitor->is_removed, true);
	if (fstatvfs(disk_monitor->dir_fd, &disk)) return; /* the last level stays valid */
	/* The kernel reserves space beyond the largest size that a file may have, but no write reaches it. */
	uint64_t file_room = db_file_room(disk_monitor->db);
	uint64_t free_bytes = less((uint64_t)disk.f_bavail * disk.f_frsize, file_room);
	disk_monitor->look_ms = free_bytes < DISK_NEAR_BYTES ? CARETAKER_LOOK_NEAR_MS : CARETAKER_LOOK_MS;
	uint64_t wanted = RESERVE_AHEAD_BYTES +
	                  atomic_load_explicit(&disk_monitor->owed, memory_order_relaxed);
	bool reserved = wanted <= file_room && db_reserve(disk_monitor->db, wanted) == OK;
	atomic_store(&disk_monitor->room,
	             plan_room(free_bytes, reserved, less(db_ahead(disk_monitor->db), file_room)));
	if (reserved)
		db_hold_ahead(disk_monitor->db, &disk_monitor->progress); /* for speed, so it comes last */
}

/* Sleeps for `ms`; false: stop. */
static bool rest(struct disk_monitor *disk_monitor, unsigned ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	pthread_mutex_lock(&disk_monitor->mutex);
	if (!disk_monitor->stopping)
		pthread_cond_timedwait(&disk_monitor->stop, &disk_monitor->mutex, &until);
	bool go_on = !disk_monitor->stopping;
	pthread_mutex_unlock(&disk_monitor->mutex);
	return go_on;
}

static void *disk_monitor_main(void *data)
{
	struct disk_monitor *disk_monitor = data;
	struct db_push       push = {.at = 0};
	int64_t              looked_us = monotonic_us();
	unsigned             ms = PUSH_MS;
	while (rest(disk_monitor, ms)) {
		if (monotonic_us() - looked_us >=
		    disk_monitor->look_ms * US_PER_MS) { /* a push may also have taken long */
			looked_us = monotonic_us();
			look(disk_monitor);
		}
		if (db_push(disk_monitor->db, &push, PUSH_BYTES))
			atomic_store(&disk_monitor->error_number, errno ? errno : EIO);
		ms = push.is_done ? disk_monitor->look_ms : PUSH_MS;
	}
	return NULL;
}

enum err disk_monitor_open(struct db *db, int dir_fd, struct disk_monitor **out)
{
	pthread_condattr_t   monotonic;
	struct disk_monitor *disk_monitor = calloc(1, sizeof *disk_monitor);
	*out = disk_monitor;
	if (!disk_monitor) return ERR_NO_MEMORY;
	disk_monitor->db = db;
	disk_monitor->look_ms = CARETAKER_LOOK_MS;
	disk_monitor->dir_fd = dir_fd;
	disk_monitor->has_links = !db_is_removed(db);
	pthread_mutex_init(&disk_monitor->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&disk_monitor->stop, &monotonic);
	pthread_condattr_destroy(&monotonic);
	look(disk_monitor); /* at once: the start waits for it */
	disk_monitor->progress.bytes_per_s = HOLD_BYTES_PER_S;
	if (pthread_create(&disk_monitor->thread, NULL, disk_monitor_main, disk_monitor))
		return ERR_NO_MEMORY;
	disk_monitor->started = true;
	return OK;
}

enum err disk_monitor_close(struct disk_monitor **disk_monitor_p)
{
	struct disk_monitor *disk_monitor = *disk_monitor_p;
	if (!disk_monitor) return OK;
	pthread_mutex_lock(&disk_monitor->mutex);
	disk_monitor->stopping = true;
	atomic_store(&disk_monitor->progress.stop, true);
	pthread_cond_signal(&disk_monitor->stop);
	pthread_mutex_unlock(&disk_monitor->mutex);
	if (disk_monitor->started) pthread_join(disk_monitor->thread, NULL);
	int error_number = disk_monitor_error_number(disk_monitor);
	pthread_cond_destroy(&disk_monitor->stop);
	pthread_mutex_destroy(&disk_monitor->mutex);
	free(disk_monitor);
	*disk_monitor_p = NULL;
	return error_number ? ERR_IO : OK;
}

void disk_monitor_owes(struct disk_monitor *disk_monitor, uint64_t bytes)
{
	atomic_store_explicit(&disk_monitor->owed, bytes, memory_order_relaxed);
}

enum disk_level disk_monitor_level(const struct disk_monitor *disk_monitor)
{
	if (disk_monitor_is_removed(disk_monitor)) return DISK_FOR_NOTHING;
	return (enum disk_level)atomic_load_explicit(&disk_monitor->room, memory_order_relaxed);
}

bool disk_monitor_is_removed(const struct disk_monitor *disk_monitor)
{
	return atomic_load_explicit(&disk_monitor->is_removed, memory_order_relaxed);
}

int disk_monitor_error_number(const struct disk_monitor *disk_monitor)
{
	return atomic_load_explicit(&disk_monitor->error_number, memory_order_relaxed);
}
