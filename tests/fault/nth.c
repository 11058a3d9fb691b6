/* The n-th failure. Each work is repeated, and each time another call fails: the first of its class, the
 * second, the third, until the work ends without a failure. Each failure occurs once alone and once with all
 * later ones. Every run is its own process on a copy of the same directory. Afterwards another process starts
 * on that directory without failures and checks the contents. A third one does so on a copy whose tables are
 * not trusted, so that everything must come from the journal and the snapshots.
 *
 *    nth WORK [FAILURE]               one work; exit status 1 when a fault was found
 *    nth WORK FAILURE --must-find     for a store that ignores failures on purpose: 1 when nothing was found
 *
 * FAILURE is the beginning of a text in `trials` and selects all that begin so. STAMPEDE_NTH_STRIDE N: one of
 * N calls fails, chosen at random (STAMPEDE_SEED, printed), fewer of the late ones and more of the first few;
 * 1: every call. */
#include "tests/fault/works.h"
#include "tests/unit/patience.h"

#include <errno.h>
#include <lmdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PROCESS_SECONDS = 60, FINDINGS_SHOWN = 20, RUNS_MAX = 20000, STRIDE = 4, FIRST = 32, LATE = 12 };

/* The ways in which calls of a class fail. */
static const struct trial {
	enum call_class class;
	int         kind;
	const char *text;
} trials[] = {
    {CALLS_MEMORY, ENOMEM, "memory"},
    {CALLS_OPEN, EMFILE, "open EMFILE"},
    {CALLS_DIRECTORY, EIO, "directory EIO"},
    {CALLS_READ, EIO, "read EIO"},
    {CALLS_WRITE, EIO, "write EIO"},
    {CALLS_WRITE, ENOSPC, "write ENOSPC"},
    {CALLS_WRITE, SHORT_WRITE, "write short"},
    {CALLS_SYNC, EIO, "sync EIO"},
    {CALLS_NAME, EIO, "name EIO"},
    {CALLS_NAME, ENOSPC, "name ENOSPC"},
    {CALLS_SPACE, ENOSPC, "space ENOSPC"},
    {CALLS_THREAD, EAGAIN, "thread EAGAIN"},
    {CALLS_TABLES_OPEN, ENOMEM, "tables open ENOMEM"},
    {CALLS_TABLES_OPEN, MDB_INVALID, "tables open INVALID"},
    {CALLS_TABLES_BEGIN, ENOMEM, "tables begin ENOMEM"},
    {CALLS_TABLES_BEGIN, MDB_PANIC, "tables begin PANIC"},
    {CALLS_TABLES_READ, MDB_CORRUPTED, "tables read CORRUPTED"},
    {CALLS_TABLES_READ, EIO, "tables read EIO"},
    {CALLS_TABLES_WRITE, MDB_MAP_FULL, "tables write MAP_FULL"},
    {CALLS_TABLES_COMMIT, EIO, "tables commit EIO"},
    {CALLS_TABLES_COMMIT, MDB_MAP_FULL, "tables commit MAP_FULL"},
    {CALLS_TABLES_SYNC, EIO, "tables sync EIO"},
};

struct run {
	enum work        work;
	struct test_dir  test_dir;
	struct injection injection;
	struct story    *story; /* shared with the processes */
};

static unsigned runs, findings, stride = STRIDE;
static uint64_t seed;

static int work_main(void *user)
{
	struct run *run = user;
	alarm((unsigned)patience_ms(PROCESS_SECONDS * 1000) / 1000);
	work_do(run->work, &run->test_dir, &run->injection, run->story);
	return 0;
}

static int judge_main(void *user)
{
	struct run *run = user;
	alarm((unsigned)patience_ms(PROCESS_SECONDS * 1000) / 1000);
	return work_judge(&run->test_dir, run->story) ? 0 : 1;
}

static void found(const struct run *run, const struct trial *trial, const char *what, int status)
{
	if (findings++ >= FINDINGS_SHOWN) return;
	printf("%s: %s, call %u%s: %s (%d) told=%s %s\n", work_text(run->work), trial->text,
	       run->injection.nth, run->injection.for_good ? " and later" : "", what, status,
	       err_code(run->story->err), run->story->what);
	fflush(stdout);
}

static void judge(struct run *run, const struct trial *trial, const char *text)
{
	int status = in_child(judge_main, run);
	if (status) found(run, trial, text, status);
}

/* As after a power failure: the tables exist but are not trusted. */
static void judge_without_tables(struct run *run, const struct trial *trial)
{
	struct run other = *run;
	test_dir_copy(&run->test_dir, &other.test_dir);
	(void)unlinkat(other.test_dir.fd, "trust", 0); /* there may have been no tables yet */
	judge(&other, trial, "afterwards, the tables made anew");
	test_dir_remove(&other.test_dir);
}

/* Makes one run and reports faults. Returns true if any call failed. */
static bool run_once(struct run *run, const struct trial *trial)
{
	struct story *story = run->story;
	int           status = in_child(work_main, run);
	bool          fired = story->fired || status;
	bool          is_job = run->work >= WORK_job_snapshot;
	runs++;
	if (status) found(run, trial, "it died", status);
	if (story->silent) found(run, trial, "an error without a word", 0);
	if (story->err && !err_code(story->err)) found(run, trial, "no error of ours", (int)story->err);
	if (story->job && !err_code(story->job)) found(run, trial, "no error of ours", (int)story->job);
	if (story->half) found(run, trial, "left half-made", 0);
	if (is_job && story->err) found(run, trial, "the service does not go on", (int)story->err);
	if (story->kept) found(run, trial, "not given back", 0);
	if (story->wrong) found(run, trial, "wrong rows", 0);
	if (story->stuck) found(run, trial, "it waits for ever", 0);
	if (!fired && (story->err || story->job)) found(run, trial, "an error though nothing failed", 0);
	judge_without_tables(run, trial);
	judge(run, trial, "afterwards");
	return fired;
}

/* Late calls are many and similar, so the steps grow: at most about eight calls for each doubling. */
static unsigned next_after(unsigned nth)
{
	unsigned late = nth / (stride < LATE ? stride : LATE);
	unsigned step = stride > 1 && late > stride ? late : stride;
	return nth + 1 + (nth < FIRST / stride ? 0 : chance_below(&seed, 2 * step - 1));
}

static void try_all(struct run *run, const struct test_dir *origin, unsigned rows, const struct trial *trial)
{
	for (unsigned nth = 1;; nth = next_after(nth)) {
		if (run->work == WORK_start_new)
			test_dir_make(&run->test_dir);
		else
			test_dir_copy(origin, &run->test_dir);
		if (work_distrusts(run->work)) must(!unlinkat(run->test_dir.fd, "trust", 0));
		memset(run->story, 0, sizeof *run->story);
		run->story->decided = run->story->durable = rows;
		run->injection.class = trial->class;
		run->injection.kind = trial->kind;
		run->injection.nth = nth;
		bool fired = run_once(run, trial);
		test_dir_remove(&run->test_dir);
		if (!fired) return;
		must(nth < RUNS_MAX);
	}
}

static enum work work_named(const char *name)
{
	static const char *const names[WORK_COUNT] = {
#define WORK_NAME(name, text) [WORK_##name] = #name,
	    WORKS(WORK_NAME)
#undef WORK_NAME
	};
	for (unsigned i = 0; i < WORK_COUNT; i++)
		if (!strcmp(name, names[i])) return (enum work)i;
	fprintf(stderr, "no such work: %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	bool        must_find = argc == 4 && !strcmp(argv[3], "--must-find");
	const char *failure = argc > 2 ? argv[2] : "";
	if (argc < 2 || argc > 4 || (argc == 4 && !must_find)) {
		fprintf(stderr, "usage: nth WORK [FAILURE [--must-find]]\n");
		return 2;
	}
	struct run run = {.work = work_named(argv[1])};
	run.story = mmap(NULL, sizeof *run.story, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(run.story != MAP_FAILED);
	const char *every = getenv("STAMPEDE_NTH_STRIDE");
	if (every && (stride = (unsigned)strtoul(every, NULL, 10)) == 0) stride = 1;
	if (must_find) stride = 1;
	seed = chance_begin();
	struct test_dir origin;
	unsigned        rows = work_prepare(run.work, &origin);
	for (size_t i = 0; i < sizeof trials / sizeof *trials && !(must_find && findings); i++)
		for (int for_good = 0; for_good < 2 && !strncmp(trials[i].text, failure, strlen(failure));
		     for_good++) {
			run.injection.for_good = for_good;
			try_all(&run, &origin, rows, &trials[i]);
		}
	test_dir_remove(&origin);
	printf("%s: %u runs, %u findings\n", work_text(run.work), runs, findings);
	return (findings > 0) != must_find;
}
