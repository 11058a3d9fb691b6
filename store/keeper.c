/* The keeper's loop: a job that was asked for, or else a look whether a snapshot is due.
 *
 * Lifetime of a job: made by keeper_ask() (number + 1, `asked`), taken by the thread (`running`), its outcome put
 * into `state` under the mutex. Progress is counted in atomics meanwhile. */
#include "store/keeper.h"

#include "store/background.h"
#include "store/caretaker.h"
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

enum { DISK_SHARE = 16, SEGMENTS_LEAST = 4, FREE_BYTES_SHORT = 4 * ROOM_SOFT_FLOOR_BYTES };

struct keeper {
	struct store_place        place;
	const struct journal_dir *dir;
	struct view              *reader;
	struct arena              arena;
	struct progress           progress;
	atomic_bool               damage, wants_segment;
	pthread_mutex_t           mutex;
	pthread_cond_t            wake;
	pthread_t                 thread;
	bool                      started;

	/* Under the mutex. */
	bool                stopping, asked;
	char                export_to[KEEP_DIR_MAX];
	struct keeper_state state;

	/* The thread's. */
	int64_t             retry_at_s; /* monotonic */
	struct keeper_state job;        /* the one at work */
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

/* What there is ------------------------------------------------------------------------------------------- */

struct ground {
	struct applied  at;     /* of the live tables */
	wall_us         erased; /* service time of the last erasure; 0: none */
	uint64_t        used_bytes;
	uint64_t        first, last;          /* segments */
	struct snapshot list[SNAPSHOTS_KEPT]; /* newest first */
	unsigned        count;
};

static enum err survey(struct keeper *keeper, struct ground *ground)
{
	enum err err = db_reader_begin(keeper->reader);
	if (err) return err;
	err = db_applied(keeper->reader, &ground->at);
	if (!err) err = erased_get(keeper->reader, &ground->erased);
	ground->used_bytes = view_used_bytes(keeper->reader);
	db_reader_end(keeper->reader);
	ground->count = SNAPSHOTS_KEPT;
	if (!err) err = snapshot_list(keeper->place.dir_fd, keeper->dir, ground->list, &ground->count, NULL);
	return err ? err : segment_bounds(keeper->dir, &ground->first, &ground->last);
}

static void note(struct keeper *keeper, const struct ground *ground)
{
	struct statvfs disk;
	bool           known = !fstatvfs(keeper->place.dir_fd, &disk);
	pthread_mutex_lock(&keeper->mutex);
	struct keeper_state *state = &keeper->state;
	state->snapshots = ground->count;
	state->snapshot_seq = ground->count ? ground->list[0].at.seq : 0;
	state->snapshot_made = ground->count ? ground->list[0].made : (wall_us){0};
	state->data_bytes = ground->used_bytes;
	if (known) state->free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	state->journal_first_segment = ground->first;
	state->journal_bytes = ground->first ? (ground->last - ground->first + 1) * keeper->dir->segment_bytes
	                                     : 0;
	pthread_mutex_unlock(&keeper->mutex);
}

/* How much journal may lie behind the newest snapshot. A disk that gets short is better off with snapshots. */
static uint64_t journal_limit(const struct keeper *keeper, const struct ground *ground)
{
	struct statvfs disk;
	uint64_t       least = SEGMENTS_LEAST * keeper->dir->segment_bytes, limit = KEEP_JOURNAL_BYTES;
	if (keeper->place.snapshot_after_bytes) return keeper->place.snapshot_after_bytes;
	if (limit < ground->used_bytes / 2) limit = ground->used_bytes / 2;
	if (!fstatvfs(keeper->place.dir_fd, &disk)) {
		uint64_t share = (uint64_t)disk.f_blocks * disk.f_frsize / DISK_SHARE;
		if (limit > share) limit = share;
		if ((uint64_t)disk.f_bavail * disk.f_frsize < FREE_BYTES_SHORT) limit = least;
	}
	return limit > least ? limit : least;
}

static bool is_due(const struct keeper *keeper, const struct ground *ground)
{
	uint64_t from = ground->count && ground->list[0].at.segment ? ground->list[0].at.segment
	                                                            : ground->first;
	uint64_t behind = (ground->at.segment - from) * keeper->dir->segment_bytes;
	return behind >= journal_limit(keeper, ground) && monotonic_s() >= keeper->retry_at_s;
}

/* May the segment hold what was erased? Not if its first record is of a later time. */
static bool remembers(const struct keeper *keeper, const struct ground *ground, uint64_t segment)
{
	wall_us began;
	return segment_began(keeper->dir, segment, &began) || began.v <= ground->erased.v;
}

static unsigned clean_snapshots(const struct keeper *keeper, const struct ground *ground)
{
	unsigned clean = 0;
	while (clean < ground->count && !remembers(keeper, ground, ground->list[clean].at.segment))
		clean++;
	return clean;
}

/* Is one to be made so that an erasure is forgotten? If a segment is wanted for it, not before that is there. */
static bool must_forget(struct keeper *keeper, const struct ground *ground)
{
	int64_t after_s = keeper->place.forget_after_s ? keeper->place.forget_after_s : KEEP_FORGET_S;
	bool    due = ground->erased.v && clean_snapshots(keeper, ground) < SNAPSHOTS_KEPT &&
	           monotonic_s() >= keeper->retry_at_s;
	if (due && ground->count) due = real_time().v - ground->list[0].made.v >= after_s * US_PER_SEC;
	bool is_made = ground->count && ground->list[0].at.seq == ground->at.seq;
	bool wants = due && (is_made || remembers(keeper, ground, ground->at.segment));
	atomic_store(&keeper->wants_segment, wants);
	return due && !wants;
}

/* Work ---------------------------------------------------------------------------------------------------- */

/* Segments go one after the other, oldest first, each durably: there is never a gap. */
static enum err recycle(struct keeper *keeper)
{
	struct ground ground;
	enum err      err = survey(keeper, &ground);
	if (err || ground.count < SNAPSHOTS_KEPT) return err;
	uint64_t keep_from = ground.list[ground.count - 1].at.segment;
	for (uint64_t number = ground.first; !err && number && number < keep_from; number++)
		err = segment_remove(keeper->dir, number, &keeper->progress);
	return err;
}

/* Too little room for one more: the older of two goes, if the newer is whole, and the journal before the newer. */
static enum err make_room(struct keeper *keeper)
{
	struct ground ground;
	enum err      err = survey(keeper, &ground);
	if (err || ground.count < SNAPSHOTS_KEPT || ground.list[0].at.segment == 0)
		return err ? err : ERR_STORAGE_FULL;
	if ((err = snapshot_check(keeper->place.dir_fd, &ground.list[0], &keeper->progress))) return err;
	if ((err = snapshot_prune(keeper->place.dir_fd, keeper->dir, 1, &keeper->progress))) return err;
	for (uint64_t number = ground.first; !err && number < ground.list[0].at.segment; number++)
		err = segment_remove(keeper->dir, number, &keeper->progress);
	return err;
}

/* *is_new: it was made; otherwise nothing has been written since the newest one, which is given. */
static enum err make(struct keeper *keeper, struct snapshot *made, struct faults *faults, bool *is_new)
{
	struct ground         ground;
	struct snapshot_order order = {
	    .place_fd = keeper->place.dir_fd,
	    .dir = keeper->dir,
	    .reader = keeper->reader,
	    .map_bytes = keeper->place.map_bytes,
	    .now = real_time(),
	    .progress = &keeper->progress,
	    .faults = faults,
	    .tables_damaged = &keeper->damage,
	};
	enum err err = survey(keeper, &ground);
	*is_new = false;
	if (err) return err;
	bool is_made = ground.count && ground.list[0].at.seq == ground.at.seq;
	if (is_made && !(err = snapshot_check(keeper->place.dir_fd, &ground.list[0], &keeper->progress))) {
		*made = ground.list[0];
		return OK;
	}
	if (err && err != ERR_DAMAGED) return err;
	err = snapshot_make(&order, made);
	if (err == ERR_STORAGE_FULL && !(err = make_room(keeper))) err = snapshot_make(&order, made);
	*is_new = !err;
	return err;
}

/* Older ones go for a new one, and the journal before them: unless it has been found faulty, then it goes itself. */
static enum err settle(struct keeper *keeper, const struct keeper_state *state)
{
	if (state->faults.count)
		return snapshot_remove(keeper->place.dir_fd, &state->made, &keeper->progress);
	enum err err = snapshot_prune(keeper->place.dir_fd, keeper->dir, SNAPSHOTS_KEPT, &keeper->progress);
	return err ? err : recycle(keeper);
}

static enum err copy_out(struct keeper *keeper, const struct snapshot *made)
{
	int fd = open(keeper->export_to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) return errno == ENOENT || errno == ENOTDIR ? ERR_INVALID_INPUT : ERR_IO;
	enum err err = snapshot_export(keeper->place.dir_fd, made, fd, &keeper->progress);
	close(fd);
	return err;
}

static enum err verify(struct keeper *keeper, struct keeper_state *state)
{
	struct verify_report *report = calloc(1, sizeof *report);
	struct verify_order   order = {.place = &keeper->place,
	                               .served = true,
	                               .durable_seq = state->made.at.seq,
	                               .progress = &keeper->progress};
	if (!report) return ERR_NO_MEMORY;
	enum err err = verify_place(&order, report);
	if (!err) {
		state->faults = report->faults;
		state->audit = report->audit;
		state->records = report->records;
		state->segments = report->segments;
	}
	free(report);
	return err;
}

/* A job's outcome is in *state, which nobody else sees yet. */
static void run(struct keeper *keeper, struct keeper_state *state)
{
	bool     is_new;
	enum err err = make(keeper, &state->made, &state->faults, &is_new);
	if (!err && state->what == KEEP_BACKUP) err = copy_out(keeper, &state->made);
	if (!err && state->what == KEEP_VERIFY) err = verify(keeper, state);
	enum err settled = is_new ? settle(keeper, state) : OK;
	state->err = err ? err : settled;
}

static void finish(struct keeper *keeper, const struct keeper_state *job)
{
	pthread_mutex_lock(&keeper->mutex);
	keeper->state.running = false;
	keeper->state.err = job->err;
	keeper->state.made = job->made;
	keeper->state.faults = job->faults;
	keeper->state.audit = job->audit;
	keeper->state.records = job->records;
	keeper->state.segments = job->segments;
	keeper->state.done = keeper->state.total;
	pthread_mutex_unlock(&keeper->mutex);
}

static void by_itself(struct keeper *keeper, struct keeper_state *job)
{
	run(keeper, job);
	if (job->err) keeper->retry_at_s = monotonic_s() + KEEP_RETRY_S;
	pthread_mutex_lock(&keeper->mutex);
	keeper->state.failures = job->err ? keeper->state.failures + 1 : 0;
	keeper->state.failure = job->err;
	pthread_mutex_unlock(&keeper->mutex);
}

/* Waits for a job, or until it is time to look; false when it is time to end. */
static bool next(struct keeper *keeper, bool *asked, struct keeper_state *job)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += KEEP_LOOK_MS / 1000;
	pthread_mutex_lock(&keeper->mutex);
	if (!keeper->stopping && !keeper->asked)
		pthread_cond_timedwait(&keeper->wake, &keeper->mutex, &until);
	*job = (struct keeper_state){.what = keeper->asked ? keeper->state.what : KEEP_SNAPSHOT};
	*asked = keeper->asked;
	keeper->asked = false;
	bool go_on = !keeper->stopping;
	pthread_mutex_unlock(&keeper->mutex);
	return go_on;
}

static void *keeper_main(void *data)
{
	struct keeper       *keeper = data;
	struct keeper_state *job = &keeper->job;
	struct ground        ground;
	bool                 asked;
	background_thread();
	(void)!snapshot_prune(keeper->place.dir_fd, keeper->dir, SNAPSHOTS_KEPT,
	                      NULL); /* what a killed one has left */
	while (next(keeper, &asked, job)) {
		atomic_store(&keeper->progress.done, 0);
		atomic_store(&keeper->progress.total, 0);
		if (asked)
			run(keeper, job);
		else if (!survey(keeper, &ground) &&
		         (is_due(keeper, &ground) || must_forget(keeper, &ground)))
			by_itself(keeper, job);
		if (!survey(keeper, &ground)) note(keeper, &ground);
		if (asked) finish(keeper, job); /* last: whoever is told of its end sees what it left, too */
	}
	return NULL;
}

/* From any thread ----------------------------------------------------------------------------------------- */

enum err keeper_ask(struct keeper *keeper, enum keep what, struct span dir, uint64_t *number)
{
	if (dir.size >= KEEP_DIR_MAX || memchr(dir.at ? dir.at : (const uint8_t *)"", 0, dir.size))
		return ERR_INVALID_INPUT;
	if (what == KEEP_BACKUP && (dir.size == 0 || dir.at[0] != '/')) return ERR_INVALID_INPUT;
	pthread_mutex_lock(&keeper->mutex);
	enum err err = keeper->state.running ? ERR_RESOURCE_CONFLICT : OK;
	if (!err) {
		struct keeper_state *state = &keeper->state;
		*number = ++state->number;
		state->what = what;
		state->running = keeper->asked = true;
		state->err = OK;
		state->faults.count = 0;
		state->made = (struct snapshot){.made = {0}};
		if (dir.size) memcpy(keeper->export_to, dir.at, dir.size);
		keeper->export_to[dir.size] = 0;
		pthread_cond_signal(&keeper->wake);
	}
	pthread_mutex_unlock(&keeper->mutex);
	return err;
}

void keeper_state(struct keeper *keeper, struct keeper_state *state)
{
	pthread_mutex_lock(&keeper->mutex);
	*state = keeper->state;
	pthread_mutex_unlock(&keeper->mutex);
	state->damage = keeper_found_damage(keeper);
	int64_t age_us = real_time().v - state->snapshot_made.v;
	state->snapshot_age_s = state->snapshots && age_us > 0 ? age_us / 1000000 : 0;
	if (!state->running) return;
	state->done = atomic_load(&keeper->progress.done);
	state->total = atomic_load(&keeper->progress.total);
}

bool keeper_wants_segment(const struct keeper *keeper)
{
	return atomic_load_explicit(&keeper->wants_segment, memory_order_relaxed);
}

bool keeper_found_damage(const struct keeper *keeper)
{
	return atomic_load_explicit(&keeper->damage, memory_order_relaxed);
}

enum err keeper_open(const struct store_place *place, const struct journal_dir *dir, struct db *db,
                     struct keeper **out)
{
	pthread_condattr_t monotonic;
	struct ground      ground;
	struct keeper     *keeper = calloc(1, sizeof *keeper);
	*out = keeper;
	if (!keeper) return ERR_NO_MEMORY;
	keeper->place = *place;
	keeper->progress.bytes_per_s = place->snapshot_bytes_per_s ? place->snapshot_bytes_per_s
	                                                           : KEEP_BYTES_PER_S;
	keeper->dir = dir;
	pthread_mutex_init(&keeper->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&keeper->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	enum err err = db_reader_open(db, &keeper->arena, &keeper->reader);
	if (err || (err = survey(keeper, &ground))) return err;
	note(keeper, &ground);
	if (pthread_create(&keeper->thread, NULL, keeper_main, keeper)) return ERR_NO_MEMORY;
	keeper->started = true;
	return OK;
}

void keeper_close(struct keeper **keeper_p)
{
	struct keeper *keeper = *keeper_p;
	if (!keeper) return;
	atomic_store(&keeper->progress.stop, true);
	pthread_mutex_lock(&keeper->mutex);
	keeper->stopping = true;
	pthread_cond_signal(&keeper->wake);
	pthread_mutex_unlock(&keeper->mutex);
	if (keeper->started) pthread_join(keeper->thread, NULL);
	db_reader_close(&keeper->reader);
	arena_free(&keeper->arena);
	pthread_cond_destroy(&keeper->wake);
	pthread_mutex_destroy(&keeper->mutex);
	free(keeper);
	*keeper_p = NULL;
}
