/* The works, and the checks of their results. When the store reports that there is no room, the client is refused, as
 * the shard does it. */
#include "tests/fault/works.h"
#include "tests/fault/rows.h"
#include "tests/unit/patience.h"

#include "schemas/bytes.h"
#include "store/file.h"
#include "store/snapshotter.h"
#include "store/walk.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	ROWS_BEFORE = 24,  /* in a prepared directory */
	ROWS_OF_WORK = 14, /* decided while calls fail */
	ROWS_AFTER = 4,    /* after calls no longer fail */
	COMMIT_EVERY = 3,
	LOOK_MS = 4,
	PATIENCE_MS = 20000, /* longer counts as a hang; a process has its own limit */
	SNAPSHOT_ROWS = 8,   /* between two snapshots of a prepared directory */
	ROWS_BESIDE_JOB = 6, /* limit while a job is running */
	JOB_PATIENCE_MS = 40000,
	JOB_LOOK_US = 400,
};

static struct arena arena;

const char *work_text(enum work work)
{
	static const char *const texts[WORK_COUNT] = {
#define WORK_TEXT(name, text) [WORK_##name] = text,
	    WORKS(WORK_TEXT)
#undef WORK_TEXT
	};
	return texts[work];
}

bool work_distrusts(enum work work)
{
	return work == WORK_start_rebuild || work == WORK_start_snapshot;
}

static bool is_start(enum work work)
{
	return work <= WORK_start_snapshot;
}

static bool is_job(enum work work)
{
	return work >= WORK_job_snapshot;
}

/* Steps of a store -------------------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for events like a shard, for a short time and not beyond `end_ms`. */
static enum err await_news(struct store *store, struct story *story, int64_t end_ms)
{
	struct pollfd news = {.fd = store_fd(store), .events = POLLIN};
	bool          was_syncing = store_is_syncing(store);
	enum err      err = store_settle(store);
	if (err || (was_syncing && !store_is_syncing(store))) return err; /* it had become durable at once */
	(void)poll(&news, 1, LOOK_MS);
	story->stuck = now_ms() >= end_ms;
	return store_settle(store);
}

/* Submits the open record and waits until everything is durable. */
static enum err save(struct store *store, struct story *story)
{
	int64_t  end_ms = now_ms() + patience_ms(PATIENCE_MS);
	enum err err = OK;
	while (!err && !story->stuck && !store_can_submit(store))
		err = await_news(store, story, end_ms);
	if (err || story->stuck) return err;
	store_submit(store, (wall_us){1});
	while (!err && !story->stuck && store_is_syncing(store))
		err = await_news(store, story, end_ms);
	if (!err && !story->stuck) story->durable = story->decided;
	return err;
}

/* Decides and saves the next row, if there is room for it. */
static enum err write_row(struct store *store, struct story *story)
{
	struct writes writes = {.arena = &arena};
	int64_t       end_ms = now_ms() + patience_ms(PATIENCE_MS);
	enum err      err = OK;
	arena_reset(&arena);
	while (!err && !story->stuck && store_must_wait(store))
		err = await_news(store, story, end_ms);
	if (err || story->stuck || store_room(store) != DISK_FOR_ALL) return err;
	if (rows_stage(&writes, story->decided + 1)) return OK; /* refused: none of it was applied */
	story->decided++;
	if ((err = store_apply(store, &writes)) || (err = save(store, story)) || story->stuck) return err;
	if (store_owes_slice(store, story->decided % COMMIT_EVERY == 1)) return store_slice(store, true);
	return story->decided % COMMIT_EVERY == 0 ? store_commit(store) : OK;
}

static enum err write_rows(struct store *store, struct story *story, unsigned count)
{
	enum err err = OK;
	for (unsigned i = 0; i < count && !err && !story->stuck; i++)
		err = write_row(store, story);
	return err;
}

/* Jobs of the snapshotter ------------------------------------------------------------------------------------------ */

static bool says(struct story *story, const char *what, unsigned number)
{
	snprintf(story->what, sizeof story->what, "%s %u; durable %u, decided %u", what, number,
	         story->durable, story->decided);
	return false;
}

/* Starts a job and waits for its end, while up to `rows` are written. `to`: the target of a backup, else
 * "". */
static void run_job(struct store *store, enum snapshot_job what, const char *to, unsigned rows,
                    struct story *story)
{
	struct snapshotter_state state = {.running = true};
	uint64_t                 number;
	int64_t                  end_ms = now_ms() + patience_ms(JOB_PATIENCE_MS);
	story->err = snapshotter_ask(store_snapshotter(store), what, span_str(to), &number);
	while (!story->err && !story->stuck && state.running) {
		if (rows && rows--) story->err = write_row(store, story);
		usleep(JOB_LOOK_US);
		snapshotter_state(store_snapshotter(store), &state);
		if (now_ms() > end_ms) story->stuck = true;
	}
	story->job = state.err;
}

/* Creates the directory for a backup inside the store's directory. */
static void backup_dir(const struct test_dir *test_dir, const char *name, char path[PATH_MAX])
{
	char home[PATH_MAX];
	must(realpath(test_dir->path, home) && !mkdirat(test_dir->fd, name, 0700));
	must(snprintf(path, PATH_MAX, "%s/%s", home, name) < PATH_MAX);
}

/* A backup without a valid manifest counts as absent; with one it must be complete. */
static bool backup_is_sound(const struct test_dir *test_dir, const char *dir, bool must_be)
{
	char            name[64];
	struct buffer   text = {0};
	struct snapshot said;
	struct stat     st;
	uint8_t         sum[32];
	snprintf(name, sizeof name, "%s/manifest", dir);
	enum err err = file_load(test_dir->fd, name, MANIFEST_BYTES_MAX, &text);
	if (!err) err = snapshot_manifest_read(buffer_span(&text), &said);
	buffer_free(&text);
	if (err) return !must_be;
	snprintf(name, sizeof name, "%s/data.mdb", dir);
	int  fd = openat(test_dir->fd, name, O_RDONLY | O_CLOEXEC);
	bool sound = fd >= 0 && !fstat(fd, &st) && (uint64_t)st.st_size == said.bytes &&
	             !file_sha256(fd, sum, NULL) && !memcmp(sum, said.sha256, sizeof sum);
	if (fd >= 0) close(fd);
	return sound;
}

/* Checks every complete snapshot and that none is unfinished. A verification deletes its own snapshot,
 * because it finds these test rows faulty. */
static bool snapshots_are_sound(const struct test_dir *test_dir, enum work work)
{
	struct shard_dir   at = shop_place(test_dir, false);
	struct journal_dir dir = {.fd = -1, .shard = at.shard, .segment_bytes = at.segment_bytes};
	struct snapshot    list[SNAPSHOTS_KEPT + 1];
	unsigned           count = SNAPSHOTS_KEPT + 1, broken;
	memcpy(dir.lineage, at.lineage, sizeof dir.lineage);
	if (snapshot_list(test_dir->fd, &dir, list, &count, &broken)) return false;
	for (unsigned i = 0; i < count; i++)
		if (snapshot_check(test_dir->fd, &list[i], NULL)) return false;
	return (count > 0 || work == WORK_job_verify) && count <= SNAPSHOTS_KEPT && !broken &&
	       faccessat(test_dir->fd, "snapshots/new", F_OK, 0);
}

/* Runs the job with failing calls, then again without: the store must continue, and the failed job must
 * leave no complete-looking files. */
static void do_job(struct store *store, enum work work, const struct test_dir *test_dir,
                   const struct injection *injection, struct story *story)
{
	static const enum snapshot_job kinds[WORK_COUNT] = {[WORK_job_snapshot] = JOB_SNAPSHOT,
	                                                    [WORK_job_backup] = JOB_BACKUP,
	                                                    [WORK_job_verify] = JOB_VERIFY};
	struct injection               of_keeper = *injection;
	char                           path[PATH_MAX] = "";
	of_keeper.newest_thread = true;
	if (kinds[work] == JOB_BACKUP) backup_dir(test_dir, "backup", path);
	inject_arm(&of_keeper);
	run_job(store, kinds[work], path, ROWS_BESIDE_JOB, story);
	story->fired = inject_fired();
	inject_disarm();
	enum err told = story->job;
	if (story->err || story->stuck) return;
	if (kinds[work] == JOB_BACKUP) story->half = !backup_is_sound(test_dir, "backup", told == OK);
	if ((story->err = write_rows(store, story, ROWS_AFTER)) || story->stuck) return;
	if (kinds[work] == JOB_BACKUP) backup_dir(test_dir, "again", path);
	run_job(store, kinds[work], path, ROWS_BESIDE_JOB, story);
	if (story->err || story->stuck) return;
	if (story->job) story->half = !says(story, "the next job fails too:", (unsigned)story->job);
	if (kinds[work] == JOB_BACKUP) story->half |= !backup_is_sound(test_dir, "again", true);
	story->half |= !snapshots_are_sound(test_dir, work);
	story->job = told;
}

/* Preparation
 * ---------------------------------------------------------------------------------------------------- */

struct preparing {
	const struct test_dir *test_dir;
	bool                   stop, snapshots;
};

/* Two lives; the second one dies or stops. With snapshots the journal
 * no longer reaches back to its beginning. */
static int write_before(void *user)
{
	struct preparing   *preparing = user;
	struct story        story = {.fired = false};
	struct store       *store;
	struct store_report report;
	for (unsigned life = 0; life < 2; life++) {
		must(!shop_open(preparing->test_dir, true, &store, &report));
		for (unsigned i = 0; i < ROWS_BEFORE / 2; i++) {
			must(!write_row(store, &story) && !story.stuck);
			if (!preparing->snapshots || story.decided % SNAPSHOT_ROWS) continue;
			must(!store_commit(store));
			run_job(store, JOB_SNAPSHOT, "", 0, &story);
			must(!story.err && !story.job && !story.stuck);
		}
		if (life == 0 || preparing->stop) store_close(&store);
	}
	return 0;
}

unsigned work_prepare(enum work work, struct test_dir *test_dir)
{
	struct preparing preparing = {.test_dir = test_dir,
	                              .stop = work != WORK_start_replay,
	                              .snapshots = work == WORK_start_snapshot};
	test_dir_make(test_dir);
	if (work == WORK_start_new) return 0;
	must(in_child(write_before, &preparing) == 0);
	return ROWS_BEFORE;
}

/* Works
 * ---------------------------------------------------------------------------------------------------------- */

struct held {
	unsigned memory, files, threads;
};

static struct held held_now(void)
{
	return (struct held){inject_memory_held(), inject_files_held(), inject_threads_held()};
}

/* A joined thread is visible for a moment longer. */
static void compare_held(struct held before, struct story *story)
{
	struct held after = held_now();
	for (unsigned looks = 100; looks && after.threads > before.threads; looks--) {
		usleep(1000);
		after = held_now();
	}
	if (after.memory == before.memory && after.files == before.files && after.threads == before.threads)
		return;
	story->kept = true;
	snprintf(story->what, sizeof story->what,
	         "kept: memory %u, was %u; files %u, were %u; threads %u, were %u", after.memory,
	         before.memory, after.files, before.files, after.threads, before.threads);
}

/* Starts the store; false if it cannot be used. */
static bool start(const struct test_dir *test_dir, struct story *story, struct store **store)
{
	struct store_report report;
	struct held         before = held_now();
	struct shard_dir    at = shop_place(test_dir, true);
	at.snapshot_bytes_per_s = UINT64_MAX; /* no other thread uses the disk */
	at.late_slice_rows = 1;
	at.memory_blocks = 1; /* they go and come back */
	story->err = store_open(&at, (wall_us){1}, store, &report);
	story->opened = story->err == OK;
	story->silent = story->err && !report.what[0];
	if (story->err && !story->silent) snprintf(story->what, sizeof story->what, "%.199s", report.what);
	if (story->err && !*store) compare_held(before, story);
	return story->opened;
}

/* Reads everything in another view, twice, while calls fail. */
static void read_all(struct store *store, struct story *story)
{
	struct view *view = NULL;
	unsigned     newest;
	enum err     err = store_reader_open(store, &arena, &view);
	for (unsigned i = 0; i < 2 && !err; i++) {
		if ((err = store_reader_begin(view))) break;
		err = rows_look(view, &arena, &newest);
		story->wrong |= (!err && newest != story->durable) || (err == ERR_DAMAGED && !inject_fired());
		store_reader_end(view);
	}
	if (view) store_reader_close(&view);
	story->err = err;
}

static void after_start(struct store *store, struct held before, struct story *story)
{
	inject_disarm();
	if ((story->err = write_rows(store, story, ROWS_AFTER))) return;
	if (story->stuck) return;
	store_close(&store);
	arena_free(&arena);
	compare_held(before, story);
}

void work_do(enum work work, const struct test_dir *test_dir, const struct injection *injection,
             struct story *story)
{
	struct held   before = held_now();
	struct store *store = NULL;
	if (is_start(work)) inject_arm(injection);
	if (start(test_dir, story, &store)) {
		if (is_start(work)) {
			after_start(store, before, story);
		} else if (is_job(work)) {
			do_job(store, work, test_dir, injection, story);
			if (!story->err && !story->stuck) store_close(&store);
		} else {
			inject_arm(injection);
			if (work == WORK_batches) story->err = write_rows(store, story, ROWS_OF_WORK);
			if (work == WORK_readers) read_all(store, story);
			if (!story->err && !story->stuck) store_close(&store);
		}
	}
	story->fired |= inject_fired();
	inject_disarm();
	if (is_start(work) || story->err || story->stuck) return;
	arena_free(&arena);
	compare_held(before, story);
}

/* Checks
 * -------------------------------------------------------------------------------------------------------------- */

/* Every page and row; `faults` is large and lives until the process ends. */
static bool is_sound(struct store *store, struct story *story)
{
	static struct faults faults;
	struct view         *view = NULL;
	enum err             err = store_reader_open(store, &arena, &view);
	if (err || (err = store_reader_begin(view))) return says(story, "cannot be walked:", err);
	err = walk_tables(view, &faults, NULL);
	store_reader_end(view);
	store_reader_close(&view);
	if (!err && !faults.count) return true;
	snprintf(story->what, sizeof story->what, "the walk (%d): %.150s", (int)err, faults.texts[0]);
	return false;
}

static enum err look_at_all(struct store *store, unsigned *newest)
{
	struct view *view = store_view(store, NULL, &arena);
	enum err     err = rows_look(view, &arena, newest);
	return err ? err : rows_look_at_keys(view, *newest);
}

bool work_judge(const struct test_dir *test_dir, struct story *story)
{
	struct store       *store = NULL;
	struct store_report report;
	struct story        after = {.fired = false};
	unsigned            newest;
	enum err            err = shop_open(test_dir, story->decided == 0, &store, &report);
	if (err) {
		snprintf(story->what, sizeof story->what, "the next start: %s: %.150s", err_code(err),
		         report.what);
		return false;
	}
	if ((err = look_at_all(store, &newest))) return says(story, "rows are not whole:", err);
	if (!is_sound(store, story)) return false;
	if (newest < story->durable) return says(story, "lost: the newest is", newest);
	if (newest > story->decided) return says(story, "never decided: the newest is", newest);
	after.decided = after.durable = newest;
	if (write_rows(store, &after, ROWS_AFTER) || after.stuck || after.durable != newest + ROWS_AFTER)
		return says(story, "it does not work afterwards, from", newest);
	if ((err = look_at_all(store, &newest)) || newest != after.durable)
		return says(story, "rows are not whole after it worked:", err);
	store_close(&store);
	return true;
}
