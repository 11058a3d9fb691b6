/* A round. Processes do the work, one life after the other in one boot of the host: they die at any entry of
 * the trace or end cleanly, and each begins with the recovery of what its predecessor left. Then the states
 * are made at points spread evenly over the trace: mostly of a power cut, opened in the next boot; sometimes
 * of a kill, opened in the same boot. For some states the recovery itself, with a little work after it, is
 * recorded and crashed too. */
#include "tests/crash/round.h"

#include "tests/crash/disk.h"
#include "tests/unit/support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	LIVES_MAX = 8,
	RECORDS_A_LIFE_MAX = 48,
	ENTRIES_A_LIFE_MAX = 700,
	RESTORED_IN = 4, /* one of this many rounds begins with a restored snapshot */
	SLOW_SYNC_US = 400,
	SECOND_IN = 8, /* one of this many states has its recovery crashed too */
	SECOND_POINTS = 3,
	SECOND_ENTRIES_MAX = 160,
	BOOT_TRUE = 0,
	BOOT_OF_WORK = 1,
	REFUSED = 3, /* exit status */
};

static const struct setting our_setting = {
    .shard = 3, .lineage = {'c', 'r', 'a', 's', 'h'}, .segment_bytes = 64 << 10, .map_bytes = 64 << 20};

/* The entries of a trace, in memory. */
struct tape {
	struct span         bytes;
	struct trace_entry *entries;
	size_t              count;
};

static void tape_open(struct tape *tape, const char *path)
{
	struct stat st;
	size_t      room = 0;
	int         fd = open(path, O_RDONLY | O_CLOEXEC);
	*tape = (struct tape){.count = 0};
	must(fd >= 0 && !fstat(fd, &st));
	if (st.st_size) {
		void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		must(at != MAP_FAILED);
		tape->bytes = span_of(at, (size_t)st.st_size);
	}
	close(fd);
	struct span        left = tape->bytes;
	struct trace_entry entry;
	while (trace_next(&left, &entry)) {
		if (tape->count == room) {
			room = room ? 2 * room : 256;
			must((tape->entries = realloc(tape->entries, room * sizeof entry)));
		}
		tape->entries[tape->count++] = entry;
	}
}

static void tape_close(struct tape *tape)
{
	if (tape->bytes.size) munmap((void *)(uintptr_t)tape->bytes.at, tape->bytes.size);
	free(tape->entries);
	*tape = (struct tape){.count = 0};
}

static uint64_t luck_of(uint64_t seed, uint64_t number)
{
	uint64_t state = seed * 0x100000001b3 + number;
	return chance(&state);
}

static void path_in(char path[PATH_ROOM + 16], const struct job *job, const char *name)
{
	snprintf(path, PATH_ROOM + 16, "%s/%s", job->dir, name);
}

/* An empty directory of the job. */
static void fresh_dir(const struct job *job, const char *name, char path[PATH_ROOM + 16])
{
	path_in(path, job, name);
	if (mkdir(path, 0700)) directory_clear(path);
}

/* The work ------------------------------------------------------------------------------------------------ */

struct session {
	struct life_order order;
	const char       *trace;
	unsigned          boot, entries, ops; /* recorder_die_after() */
	dur_us            sync_time;
	struct job       *job;
};

static int session_main(void *user)
{
	struct session *session = user;
	char            what[160];
	recorder_boot(session->boot);
	recorder_begin(session->order.path, session->trace);
	recorder_die_after(session->entries, session->ops);
	recorder_slow_syncs(session->sync_time);
	enum err err = life_run(&session->order, what);
	recorder_end();
	if (err)
		snprintf(session->job->what, JUDGE_TEXT, "a recorded life does not open: %s: %s",
		         err_code(err), what);
	return err ? REFUSED : 0;
}

/* False: the life itself found a violation. */
static bool session_run(struct session *session)
{
	int status = in_child(session_main, session);
	if (status && !session->job->what[0])
		snprintf(session->job->what, JUDGE_TEXT, "a recorded life ended with %d", status);
	return status == 0;
}

/* Not killed; or killed at any entry, at one about a name, at one that names a segment, or between a write
 * and its sync. Those are rare, and their states are the hardest. */
static void draw_end(struct session *session, unsigned entries_max, uint64_t *luck)
{
	enum { NAMES = 1 << TRACE_MAKE | 1 << TRACE_LINK | 1 << TRACE_UNLINK | 1 << TRACE_RENAME };
	static const struct {
		unsigned ops, entries_max;
	} ends[] = {{0, 1}, {~0u, 0}, {NAMES, 24}, {1 << TRACE_LINK, 3}, {1 << TRACE_SYNC_BEGIN, 24}};
	unsigned how = chance_below(luck, sizeof ends / sizeof *ends);
	session->ops = ends[how].ops;
	session->entries = 1 +
	                   chance_below(luck, ends[how].entries_max ? ends[how].entries_max : entries_max);
	session->sync_time = (dur_us){chance_below(luck, 2) ? SLOW_SYNC_US : 0};
}

static int restore_main(void *user)
{
	struct session *session = user;
	char            origin[PATH_ROOM + 16];
	path_in(origin, session->job, "origin");
	recorder_begin(session->order.path, session->trace);
	life_restore(origin, session->order.path, session->order.setting);
	return 0;
}

/* Works in a directory of its own without recording; its snapshot is the beginning of the recorded one. */
static bool begin_restored(const struct session *session, uint64_t *luck)
{
	char           origin[PATH_ROOM + 16], trace[PATH_ROOM + 16];
	struct session before = {.trace = trace, .boot = BOOT_OF_WORK, .job = session->job};
	fresh_dir(session->job, "origin", origin);
	path_in(trace, session->job, "before");
	before.order = (struct life_order){.path = origin,
	                                   .setting = &our_setting,
	                                   .seed = chance(luck),
	                                   .records = 1 + chance_below(luck, RECORDS_A_LIFE_MAX),
	                                   .beginning = BEGINS_EMPTY,
	                                   .end = LIFE_CLOSED,
	                                   .snapshot = true};
	return session_run(&before) && in_child(restore_main, (void *)(uintptr_t)session) == 0;
}

static bool record_work(const struct order *order, uint64_t round, struct job *job)
{
	char           test_dir[PATH_ROOM + 16];
	uint64_t       luck = luck_of(order->seed, UINT64_MAX - round);
	struct session session = {.trace = job->trace, .boot = BOOT_OF_WORK, .job = job};
	fresh_dir(job, "place", test_dir);
	(void)unlink(job->trace);
	bool restored = chance_below(&luck, RESTORED_IN) == 0;
	session.order = (struct life_order){.path = test_dir,
	                                    .setting = &our_setting,
	                                    .beginning = restored ? BEGINS_RESTORED : BEGINS_EMPTY};
	if (restored && !begin_restored(&session, &luck)) return false;
	for (unsigned left = 2 + chance_below(&luck, LIVES_MAX - 1); left; left--) {
		session.order.seed = chance(&luck);
		session.order.records = 1 + chance_below(&luck, RECORDS_A_LIFE_MAX);
		session.order.end = chance_below(&luck, 3) ? LIFE_DROPPED : LIFE_CLOSED;
		draw_end(&session, ENTRIES_A_LIFE_MAX, &luck);
		if (!session_run(&session)) return false;
	}
	return true;
}

/* States -------------------------------------------------------------------------------------------------- */

struct bench {
	const struct order *order;
	struct job         *job;
	struct setting      setting;
	struct tape         tape;
	struct disk        *disk;
	struct history     *history, *second;
	size_t              at; /* entries of the tape that disk and history have seen */
};

static void play(struct disk *disk, struct history *history, const struct tape *tape, size_t *at, size_t to)
{
	for (; *at < to; (*at)++) {
		disk_apply(disk, &tape->entries[*at]);
		history_see(history, &tape->entries[*at]);
	}
}

static bool judge_state(struct bench *bench, const char *path, const struct history *history)
{
	if (history->broken) {
		snprintf(bench->job->what, JUDGE_TEXT, "a recorded life had lost what was told, or rows");
		return false;
	}
	struct judged        judged = {.what = ""};
	struct state_counts *count = &bench->job->count;
	bool                 good = judge(path, &bench->setting, history, &judged);
	count->states++;
	count->cut += judged.report.cut_tail;
	if (!judged.report.rebuilt)
		count->believed += !judged.report.formatted;
	else if (judged.report.snapshot_seq)
		count->snapshot++;
	else
		count->journal++;
	if (!good) memcpy(bench->job->what, judged.what, sizeof judged.what);
	return good;
}

/* The states of a crashed recovery, checked against the promises before it and those made while it ran. */
static bool second_states(struct bench *bench, struct disk *disk, unsigned boot, uint64_t *luck)
{
	char        path[PATH_ROOM + 16], trace[PATH_ROOM + 16];
	struct tape tape;
	size_t      at = 0;
	bool        good = true;
	path_in(trace, bench->job, "second");
	tape_open(&tape, trace);
	history_copy(bench->second, bench->history);
	for (unsigned i = 0; good && i < SECOND_POINTS; i++) {
		size_t left = tape.count - at;
		play(disk, bench->second, &tape, &at, at + (size_t)(chance(luck) % (left + 1)));
		enum crash crash = chance_below(luck, 8) ? CRASH_POWER : CRASH_KILL;
		fresh_dir(bench->job, "state2", path);
		disk_build(disk, crash, luck, path);
		recorder_boot(crash == CRASH_POWER ? boot + 1 : boot);
		good = judge_state(bench, path, bench->second);
		bench->job->count.second++;
	}
	tape_close(&tape);
	return good;
}

static bool crash_again(struct bench *bench, const char *path, unsigned boot, uint64_t *luck)
{
	char           trace[PATH_ROOM + 16];
	struct disk   *disk = disk_new();
	struct session session = {.trace = trace, .boot = boot, .job = bench->job};
	session.order = (struct life_order){.path = path,
	                                    .setting = &bench->setting,
	                                    .seed = chance(luck),
	                                    .records = chance_below(luck, 6),
	                                    .beginning = history_beginning(bench->history)};
	draw_end(&session, SECOND_ENTRIES_MAX, luck);
	path_in(trace, bench->job, "second");
	(void)unlink(trace);
	disk_load(disk, path);
	bool good = session_run(&session) && second_states(bench, disk, boot, luck);
	disk_free(&disk);
	return good;
}

static bool one_state(struct bench *bench, uint64_t number, size_t point)
{
	char       path[PATH_ROOM + 16];
	uint64_t   luck = luck_of(bench->order->seed, number);
	enum crash crash = chance_below(&luck, 6) ? CRASH_POWER : CRASH_KILL;
	unsigned   boot = bench->order->is_service ? BOOT_TRUE : BOOT_OF_WORK;
	bool       again = chance_below(&luck, SECOND_IN) == 0;
	bench->job->number = number;
	bench->setting.memory_blocks = number % 2 ? MEMORY_BLOCKS : 0;
	play(bench->disk, bench->history, &bench->tape, &bench->at, point);
	fresh_dir(bench->job, "state", path);
	disk_build(bench->disk, crash, &luck, path);
	if (crash == CRASH_POWER) boot = BOOT_OF_WORK + 1;
	recorder_boot(boot);
	return again ? crash_again(bench, path, boot, &luck) : judge_state(bench, path, bench->history);
}

static void bench_open(struct bench *bench)
{
	tape_open(&bench->tape, bench->job->trace);
	bench->disk = disk_new();
	bench->history = history_new();
	bench->second = history_new();
	bench->setting = our_setting;
	if (!bench->order->is_service) return;
	/* The work of a service: its records show whose it is. */
	for (size_t i = 0; i < bench->tape.count; i++)
		history_see(bench->history, &bench->tape.entries[i]);
	bench->setting.shard = bench->history->shard;
	memcpy(bench->setting.lineage, bench->history->lineage, sizeof bench->setting.lineage);
	history_free(&bench->history);
	bench->history = history_new();
}

static void bench_close(struct bench *bench)
{
	history_free(&bench->history);
	history_free(&bench->second);
	disk_free(&bench->disk);
	tape_close(&bench->tape);
}

static int64_t seconds_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* The first entry after which a state can be made: the directory must exist, and a restored snapshot must be
 * complete, since no start happens before that. */
static size_t first_point(const struct tape *tape)
{
	size_t first = 0;
	for (size_t i = 0; i < tape->count; i++) {
		const struct trace_head *head = &tape->entries[i].head;
		bool                     begins = head->op == TRACE_ROOT && first == 0;
		if (begins || (head->op == TRACE_MARK && head->at == MARK_RESTORED)) first = i + 1;
	}
	must(first);
	return first;
}

/* Spread evenly. Every other one is moved to where a sync is just unfinished, if there is such a place before
 * the next. */
static size_t point_of(const struct tape *tape, size_t first, uint64_t i)
{
	size_t points = tape->count - first + 1, at = first + (size_t)(i * points / STATES_A_ROUND),
	       end = first + (size_t)((i + 1) * points / STATES_A_ROUND);
	for (size_t later = at; i % 2 && later < end && later < tape->count; later++)
		if (tape->entries[later].head.op == TRACE_SYNC_END) return later;
	return at;
}

void round_run(const struct order *order, uint64_t round, int64_t until_s, struct job *job)
{
	struct bench bench = {.order = order, .job = job};
	job->number = round * STATES_A_ROUND;
	if (!order->trace && !record_work(order, round, job)) return;
	bench_open(&bench);
	size_t first = first_point(&bench.tape);
	for (uint64_t i = 0; i < STATES_A_ROUND && seconds_now() < until_s; i++) {
		uint64_t number = round * STATES_A_ROUND + i;
		size_t   point = point_of(&bench.tape, first, i);
		if (order->only != UINT64_MAX && order->only != number) continue;
		if (!one_state(&bench, number, point)) break;
	}
	bench_close(&bench);
}
