/* The snapshotter's loop: a requested job, or a check whether a snapshot is due.
 * Lifetime of a job: made by snapshotter_ask() (number + 1, `asked`), taken by the thread (`running`), its outcome
 * put into `state` under the mutex. Progress is counted in atomics meanwhile. */
#include "store/snapshotter.h"

#include "store/background.h"
#include "store/disk_monitor.h"
#include "store/file.h"
#include "store/meta.h"
#include "store/monotonic.h"
#include "store/store.h"
#include "store/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { DISK_SHARE = 16, SEGMENTS_LEAST = 4, FREE_BYTES_SHORT = 4 * DISK_SOFT_FLOOR_BYTES };
/* Bytes of journal that are removed in the time in which one of a snapshot is copied. */
enum { REMOVALS_A_COPY = 8 };

struct snapshotter {
	struct shard_dir          shard_dir;
	const struct journal_dir *dir;
	struct view              *reader;
	struct arena              arena;
	struct progress           progress;
	struct progress           removal; /* of journal that nothing needs */
	atomic_bool               damage, wants_segment, has_failed;
	pthread_mutex_t           mutex;
	pthread_cond_t            wake;
	pthread_t                 thread;
	bool                      started;

	/* Under the mutex. */
	bool                     stopping, asked;
	int                      export_fd; /* of a backup that was asked for; -1: none */
	struct snapshotter_state state;

	/* The thread's. */
	int64_t                  retry_at_s; /* monotonic */
	struct snapshotter_state job;        /* the running one */
};

static int64_t monotonic_s(void)
{
	return monotonic_us() / US_PER_SEC;
}

static wall_us real_time(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (wall_us){(int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000};
}

/* Inventory ----------------------------------------------------------------------------------------------------- */

struct inventory {
	struct applied  at, late; /* of the live tables */
	wall_us         erased;   /* service time of the last erasure; 0: none */
	uint64_t        used_bytes;
	uint64_t        first, last, segments;
	struct snapshot list[SNAPSHOTS_KEPT]; /* newest first */
	unsigned        count;
};

static enum err take_inventory(struct snapshotter *snapshotter, struct inventory *inventory)
{
	enum err err = db_reader_begin(snapshotter->reader);
	if (err) return err;
	err = db_applied(snapshotter->reader, &inventory->at);
	if (!err) err = db_late(snapshotter->reader, &inventory->late);
	if (!err) err = erased_get(snapshotter->reader, &inventory->erased);
	inventory->used_bytes = view_used_bytes(snapshotter->reader);
	db_reader_end(snapshotter->reader);
	inventory->count = SNAPSHOTS_KEPT;
	if (!err)
		err = snapshot_list(snapshotter->shard_dir.dir_fd, snapshotter->dir, inventory->list,
		                    &inventory->count, NULL);
	return err ? err
	           : segment_bounds(snapshotter->dir, &inventory->first, &inventory->last,
	                            &inventory->segments);
}

static void publish(struct snapshotter *snapshotter, const struct inventory *inventory)
{
	struct statvfs disk;
	bool           known = !fstatvfs(snapshotter->shard_dir.dir_fd, &disk);
	pthread_mutex_lock(&snapshotter->mutex);
	struct snapshotter_state *state = &snapshotter->state;
	state->snapshots = inventory->count;
	state->snapshot_seq = inventory->count ? inventory->list[0].at.seq : 0;
	state->snapshot_made = inventory->count ? inventory->list[0].made : (wall_us){0};
	state->data_bytes = inventory->used_bytes;
	if (known) state->free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	state->journal_first_segment = inventory->first;
	state->journal_bytes = inventory->segments * snapshotter->dir->segment_bytes;
	pthread_mutex_unlock(&snapshotter->mutex);
}

/* The limit of journal behind the newest snapshot. On a disk short of space, snapshots take less than journal. */
static uint64_t journal_limit(const struct snapshotter *snapshotter, const struct inventory *inventory)
{
	struct statvfs disk;
	uint64_t least = SEGMENTS_LEAST * snapshotter->dir->segment_bytes, limit = SNAPSHOT_JOURNAL_BYTES;
	if (snapshotter->shard_dir.snapshot_after_bytes) return snapshotter->shard_dir.snapshot_after_bytes;
	if (limit < inventory->used_bytes / 2) limit = inventory->used_bytes / 2;
	if (!fstatvfs(snapshotter->shard_dir.dir_fd, &disk)) {
		uint64_t share = (uint64_t)disk.f_blocks * disk.f_frsize / DISK_SHARE;
		if (limit > share) limit = share;
		if ((uint64_t)disk.f_bavail * disk.f_frsize < FREE_BYTES_SHORT) limit = least;
	}
	return limit > least ? limit : least;
}

static bool is_due(const struct snapshotter *snapshotter, const struct inventory *inventory)
{
	uint64_t from = inventory->count && inventory->list[0].at.segment ? inventory->list[0].at.segment
	                                                                  : inventory->first;
	uint64_t behind = (inventory->at.segment - from) * snapshotter->dir->segment_bytes;
	return behind >= journal_limit(snapshotter, inventory) && monotonic_s() >= snapshotter->retry_at_s;
}

/* May the segment contain erased data? Not if its first record is later than the erasure. */
static bool remembers(const struct snapshotter *snapshotter, const struct inventory *inventory,
                      uint64_t segment)
{
	wall_us began;
	return segment_began(snapshotter->dir, segment, &began) || began.v <= inventory->erased.v;
}

static unsigned clean_snapshots(const struct snapshotter *snapshotter, const struct inventory *inventory)
{
	unsigned clean = 0;
	while (clean < inventory->count &&
	       !remembers(snapshotter, inventory, inventory->list[clean].at.segment))
		clean++;
	return clean;
}

/* Is a snapshot due so that an erasure is forgotten? If it needs a new segment, not before that exists. */
static bool must_forget(struct snapshotter *snapshotter, const struct inventory *inventory)
{
	int64_t after_s = snapshotter->shard_dir.forget_after_s ? snapshotter->shard_dir.forget_after_s
	                                                        : SNAPSHOT_FORGET_S;
	bool    due = inventory->erased.v && clean_snapshots(snapshotter, inventory) < SNAPSHOTS_KEPT &&
	           monotonic_s() >= snapshotter->retry_at_s;
	int64_t age_us = inventory->count ? real_time().v - inventory->list[0].made.v : INT64_MAX;
	if (age_us >= 0 && age_us < after_s * US_PER_SEC)
		due = false; /* below 0: the clock was ahead when it was made */
	bool is_made = inventory->count && inventory->list[0].at.seq == inventory->at.seq;
	bool wants = due && (is_made || remembers(snapshotter, inventory, inventory->at.segment));
	atomic_store(&snapshotter->wants_segment, wants);
	return due && !wants;
}

/* Work ---------------------------------------------------------------------------------------------------- */

/* The first segment that is needed by a snapshot, or by the late tables' rows in memory. */
static uint64_t keep_from(const struct inventory *inventory, const struct snapshot *snapshot)
{
#ifdef FAULT_LATE_SEGMENTS
	(void)inventory;
	return snapshot->at.segment; /* the fault: late tables are forgotten */
#endif
	return inventory->late.segment < snapshot->at.segment ? inventory->late.segment
	                                                      : snapshot->at.segment;
}

/* Segments are removed one by one, oldest first, each durably: there is never a gap. */
static enum err remove_before(struct snapshotter *snapshotter, const struct inventory *inventory,
                              uint64_t segment)
{
	enum err err = OK;
	for (uint64_t number = inventory->first; !err && number && number < segment; number++)
		err = segment_remove(snapshotter->dir, number, &snapshotter->removal);
	return err;
}

/* A journal that still begins with its first segment is a second source beside a single snapshot, so it is kept. */
static bool can_recycle(const struct inventory *inventory)
{
	bool has_sources = inventory->count == SNAPSHOTS_KEPT || (inventory->count && inventory->first > 1);
	return has_sources && inventory->first &&
	       inventory->first < keep_from(inventory, &inventory->list[inventory->count - 1]);
}

static enum err recycle(struct snapshotter *snapshotter)
{
	struct inventory inventory;
	enum err         err = take_inventory(snapshotter, &inventory);
	if (err || !can_recycle(&inventory)) return err;
	return remove_before(snapshotter, &inventory,
	                     keep_from(&inventory, &inventory.list[inventory.count - 1]));
}

/* Frees space for one more: removes the older of two snapshots, if the newer is whole, and the journal before the
 * newer. With a single one: what nothing needs any more. */
static enum err make_room(struct snapshotter *snapshotter)
{
	struct inventory inventory;
	enum err         err = take_inventory(snapshotter, &inventory);
	if (!err && inventory.count < SNAPSHOTS_KEPT && can_recycle(&inventory)) return recycle(snapshotter);
	if (err || inventory.count < SNAPSHOTS_KEPT || inventory.list[0].at.segment == 0)
		return err ? err : ERR_STORAGE_FULL;
	if ((err = snapshot_check(snapshotter->shard_dir.dir_fd, &inventory.list[0], &snapshotter->progress)))
		return err;
	if ((err = snapshot_prune(snapshotter->shard_dir.dir_fd, snapshotter->dir, 1,
	                          &snapshotter->progress)))
		return err;
	return remove_before(snapshotter, &inventory, keep_from(&inventory, &inventory.list[0]));
}

/* *is_new false: nothing was written since the newest one, which is returned. */
static enum err make(struct snapshotter *snapshotter, struct snapshot *made, struct faults *faults,
                     bool *is_new)
{
	struct inventory      inventory;
	struct snapshot_order order = {
	    .shard_fd = snapshotter->shard_dir.dir_fd,
	    .dir = snapshotter->dir,
	    .reader = snapshotter->reader,
	    .map_bytes = snapshotter->shard_dir.map_bytes,
	    .now = real_time(),
	    .progress = &snapshotter->progress,
	    .faults = faults,
	    .tables_damaged = &snapshotter->damage,
	};
	enum err err = take_inventory(snapshotter, &inventory);
	*is_new = false;
	if (err) return err;
	bool is_made = inventory.count && inventory.list[0].at.seq == inventory.at.seq;
	if (is_made && !(err = snapshot_check(snapshotter->shard_dir.dir_fd, &inventory.list[0],
	                                      &snapshotter->progress))) {
		*made = inventory.list[0];
		return OK;
	}
	if (err && err != ERR_DAMAGED) return err;
	err = snapshot_make(&order, made);
	if (err == ERR_STORAGE_FULL && !(err = make_room(snapshotter))) err = snapshot_make(&order, made);
	*is_new = !err;
	return err;
}

/* Older snapshots and the journal before them are removed for a new one; but a new one with faults is itself
 * removed. */
static enum err settle(struct snapshotter *snapshotter, const struct snapshotter_state *state)
{
	if (state->faults.count)
		return snapshot_remove(snapshotter->shard_dir.dir_fd, &state->made, &snapshotter->progress);
	enum err err = snapshot_prune(snapshotter->shard_dir.dir_fd, snapshotter->dir, SNAPSHOTS_KEPT,
	                              &snapshotter->progress);
	return err ? err : recycle(snapshotter);
}

static enum err copy_out(struct snapshotter *snapshotter, const struct snapshot *made)
{
	return snapshot_export(snapshotter->shard_dir.dir_fd, made, snapshotter->export_fd,
	                       &snapshotter->progress);
}

static enum err verify(struct snapshotter *snapshotter, struct snapshotter_state *state)
{
	struct verify_report *report = calloc(1, sizeof *report);
	struct verify_order   order = {.shard_dir = &snapshotter->shard_dir,
	                               .served = true,
	                               .durable_seq = state->made.at.seq,
	                               .progress = &snapshotter->progress};
	if (!report) return ERR_NO_MEMORY;
	enum err err = verify_shard(&order, report);
	if (!err) {
		state->faults = report->faults;
		state->audit = report->audit;
		state->records = report->records;
		state->segments = report->segments;
	}
	free(report);
	return err;
}

/* The job's outcome goes into *state, which is not shared yet. */
static void run(struct snapshotter *snapshotter, struct snapshotter_state *state)
{
	bool is_new;
	errno = 0;
	enum err err = make(snapshotter, &state->made, &state->faults, &is_new);
	if (!err && state->what == JOB_BACKUP) err = copy_out(snapshotter, &state->made);
	if (!err && state->what == JOB_VERIFY) err = verify(snapshotter, state);
	int      error = errno; /* of what failed first */
	enum err settled = is_new ? settle(snapshotter, state) : OK;
	state->err = err ? err : settled;
	state->error = state->err != ERR_IO ? 0 : err ? error : errno;
}

static void close_export(struct snapshotter *snapshotter)
{
	if (snapshotter->export_fd >= 0) close(snapshotter->export_fd);
	snapshotter->export_fd = -1;
}

static void finish(struct snapshotter *snapshotter, const struct snapshotter_state *job)
{
	pthread_mutex_lock(&snapshotter->mutex);
	snapshotter->state.running = false;
	snapshotter->state.err = job->err;
	snapshotter->state.error = job->error;
	snapshotter->state.made = job->made;
	snapshotter->state.faults = job->faults;
	snapshotter->state.audit = job->audit;
	snapshotter->state.records = job->records;
	snapshotter->state.segments = job->segments;
	snapshotter->state.done = snapshotter->state.total;
	close_export(snapshotter);
	pthread_mutex_unlock(&snapshotter->mutex);
}

static void by_itself(struct snapshotter *snapshotter, struct snapshotter_state *job)
{
	run(snapshotter, job);
	if (job->err) snapshotter->retry_at_s = monotonic_s() + SNAPSHOT_RETRY_S;
	pthread_mutex_lock(&snapshotter->mutex);
	bool is_same = snapshotter->state.failure == job->err &&
	               snapshotter->state.failure_error == job->error;
	snapshotter->state.failures = job->err ? snapshotter->state.failures + 1 : 0;
	if (job->err && !is_same) atomic_store(&snapshotter->has_failed, true);
	snapshotter->state.failure = job->err;
	snapshotter->state.failure_error = job->error;
	pthread_mutex_unlock(&snapshotter->mutex);
}

/* Waits for a job, or until the next check; false: stop. */
static bool next(struct snapshotter *snapshotter, bool *asked, struct snapshotter_state *job)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += SNAPSHOT_LOOK_MS / 1000;
	pthread_mutex_lock(&snapshotter->mutex);
	if (!snapshotter->stopping && !snapshotter->asked)
		pthread_cond_timedwait(&snapshotter->wake, &snapshotter->mutex, &until);
	*job = (struct snapshotter_state){.what = snapshotter->asked ? snapshotter->state.what
	                                                             : JOB_SNAPSHOT};
	*asked = snapshotter->asked;
	snapshotter->asked = false;
	bool go_on = !snapshotter->stopping;
	pthread_mutex_unlock(&snapshotter->mutex);
	return go_on;
}

static void *snapshotter_main(void *data)
{
	struct snapshotter       *snapshotter = data;
	struct snapshotter_state *job = &snapshotter->job;
	struct inventory          inventory;
	bool                      asked;
	background_thread();
	(void)!snapshot_prune(snapshotter->shard_dir.dir_fd, snapshotter->dir, SNAPSHOTS_KEPT,
	                      NULL); /* leftovers of a killed process */
	while (next(snapshotter, &asked, job)) {
		atomic_store(&snapshotter->progress.done, 0);
		atomic_store(&snapshotter->progress.total, 0);
		bool is_wanted = asked ||
		                 (!take_inventory(snapshotter, &inventory) &&
		                  (is_due(snapshotter, &inventory) || must_forget(snapshotter, &inventory)));
		if (is_wanted)
			atomic_store(&snapshotter->wants_segment, false); /* looked at again after the job */
		if (asked)
			run(snapshotter, job);
		else if (is_wanted)
			by_itself(snapshotter, job);
		if (!take_inventory(snapshotter, &inventory) && can_recycle(&inventory))
			(void)!recycle(snapshotter); /* what late tables needed until now */
		if (!take_inventory(snapshotter, &inventory)) publish(snapshotter, &inventory);
		if (asked)
			finish(snapshotter, job); /* last: a caller that sees the end also sees its effects */
	}
	return NULL;
}

/* From any thread ----------------------------------------------------------------------------------------- */

/* Opened when the job is asked for: by the time it writes, another directory may have the name. *fd is -1 without one. */
static enum err open_export(enum snapshot_job what, struct span dir, int *fd)
{
	char path[BACKUP_DIR_MAX];
	*fd = -1;
	if (dir.size >= BACKUP_DIR_MAX || memchr(dir.at ? dir.at : (const uint8_t *)"", 0, dir.size))
		return ERR_INVALID_INPUT;
	if (what != JOB_BACKUP) return OK;
	if (dir.size == 0 || dir.at[0] != '/') return ERR_INVALID_INPUT;
	snprintf(path, sizeof path, "%.*s", (int)dir.size, (const char *)dir.at);
	*fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd >= 0) return OK;
	return errno == ENOENT || errno == ENOTDIR ? ERR_INVALID_INPUT : ERR_IO;
}

enum err snapshotter_ask(struct snapshotter *snapshotter, enum snapshot_job what, struct span dir,
                         uint64_t *number)
{
	int      export_fd;
	enum err err = open_export(what, dir, &export_fd);
	if (err) return err;
	pthread_mutex_lock(&snapshotter->mutex);
	if (snapshotter->state.running) err = ERR_RESOURCE_CONFLICT;
	if (!err) {
		struct snapshotter_state *state = &snapshotter->state;
		*number = ++state->number;
		state->what = what;
		state->running = snapshotter->asked = true;
		state->err = OK;
		state->faults.count = 0;
		state->made = (struct snapshot){.made = {0}};
		snapshotter->export_fd = export_fd;
		pthread_cond_signal(&snapshotter->wake);
	}
	pthread_mutex_unlock(&snapshotter->mutex);
	if (err && export_fd >= 0) close(export_fd);
	return err;
}

void snapshotter_state(struct snapshotter *snapshotter, struct snapshotter_state *state)
{
	pthread_mutex_lock(&snapshotter->mutex);
	*state = snapshotter->state;
	pthread_mutex_unlock(&snapshotter->mutex);
	state->damage = snapshotter_found_damage(snapshotter);
	int64_t age_us = real_time().v - state->snapshot_made.v;
	state->snapshot_age_s = state->snapshots && age_us > 0 ? age_us / 1000000 : 0;
	if (!state->running) return;
	state->done = atomic_load(&snapshotter->progress.done);
	state->total = atomic_load(&snapshotter->progress.total);
}

bool snapshotter_has_failed(struct snapshotter *snapshotter)
{
	if (!atomic_load_explicit(&snapshotter->has_failed, memory_order_relaxed)) return false;
	return atomic_exchange(&snapshotter->has_failed, false);
}

bool snapshotter_wants_segment(const struct snapshotter *snapshotter)
{
	return atomic_load_explicit(&snapshotter->wants_segment, memory_order_relaxed);
}

bool snapshotter_found_damage(const struct snapshotter *snapshotter)
{
	return atomic_load_explicit(&snapshotter->damage, memory_order_relaxed);
}

enum err snapshotter_open(const struct shard_dir *shard_dir, const struct journal_dir *dir, struct db *db,
                          struct snapshotter **out)
{
	pthread_condattr_t  monotonic;
	struct inventory    inventory;
	struct snapshotter *snapshotter = calloc(1, sizeof *snapshotter);
	*out = snapshotter;
	if (!snapshotter) return ERR_NO_MEMORY;
	snapshotter->shard_dir = *shard_dir;
	snapshotter->export_fd = -1;
	snapshotter->progress.bytes_per_s = shard_dir->snapshot_bytes_per_s ? shard_dir->snapshot_bytes_per_s
	                                                                    : SNAPSHOT_BYTES_PER_S;
	snapshotter->removal.bytes_per_s = REMOVALS_A_COPY * snapshotter->progress.bytes_per_s;
	snapshotter->dir = dir;
	pthread_mutex_init(&snapshotter->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&snapshotter->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	enum err err = db_reader_open(db, &snapshotter->arena, &snapshotter->reader);
	if (err || (err = take_inventory(snapshotter, &inventory))) return err;
	publish(snapshotter, &inventory);
	if (pthread_create(&snapshotter->thread, NULL, snapshotter_main, snapshotter)) return ERR_NO_MEMORY;
	snapshotter->started = true;
	return OK;
}

void snapshotter_close(struct snapshotter **snapshotter_p)
{
	struct snapshotter *snapshotter = *snapshotter_p;
	if (!snapshotter) return;
	atomic_store(&snapshotter->progress.stop, true);
	atomic_store(&snapshotter->removal.stop, true);
	pthread_mutex_lock(&snapshotter->mutex);
	snapshotter->stopping = true;
	pthread_cond_signal(&snapshotter->wake);
	pthread_mutex_unlock(&snapshotter->mutex);
	if (snapshotter->started) pthread_join(snapshotter->thread, NULL);
	close_export(snapshotter);
	db_reader_close(&snapshotter->reader);
	arena_free(&snapshotter->arena);
	pthread_cond_destroy(&snapshotter->wake);
	pthread_mutex_destroy(&snapshotter->mutex);
	free(snapshotter);
	*snapshotter_p = NULL;
}
