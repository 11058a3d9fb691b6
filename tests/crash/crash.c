/* crash: builds states that the disk could have after a crash at any point of a store's work, and runs the
 * store's own recovery on each. README.md says how.
 *
 *   crash [--seed S] [--states N] [--seconds T] [--jobs J] [--dir DIR] [--state N] [--trace FILE | --service FILE] [--control]
 *
 * Exit status: 0 without a violation; 1 with one; 2 if it could not run. With --control 0 and 1 are
 * exchanged, for programs that are built with one rule switched off. */
#include "tests/crash/round.h"

#include "tests/crash/disk.h"
#include "tests/unit/patience.h"
#include "tests/unit/support.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	STATES_DEFAULT = 4000,
	SECONDS_DEFAULT = 50,
	SECONDS_OF_CONTROL = 800,
	ENOUGH_OF = 10,
	JOBS_DEFAULT = 2,
	JOBS_MAX = 16,
	TROUBLE = 2
};

static uint64_t number_of(const char *text)
{
	char *end;
	errno = 0;
	uint64_t number = strtoull(text, &end, 10);
	if (errno || *end || end == text) {
		fprintf(stderr, "not a number: %s\n", text);
		exit(TROUBLE);
	}
	return number;
}

static void take_option(struct order *order, int option)
{
	switch (option) {
	case 's': order->seed = number_of(optarg); return;
	case 'n': order->states = number_of(optarg); return;
	case 't': order->seconds = (unsigned)number_of(optarg); return;
	case 'j': order->jobs = (unsigned)number_of(optarg); return;
	case 'd': order->dir = optarg; return;
	case 'o': order->only = number_of(optarg); return;
	case 'r': order->is_service = true; /* fall through */
	case 'f': order->trace = optarg; return;
	case 'c': order->is_control = true; return;
	default: exit(TROUBLE);
	}
}

static struct order take_options(int argc, char **argv)
{
	static const struct option options[] = {
	    {"seed", required_argument, NULL, 's'},    {"states", required_argument, NULL, 'n'},
	    {"seconds", required_argument, NULL, 't'}, {"jobs", required_argument, NULL, 'j'},
	    {"dir", required_argument, NULL, 'd'},     {"state", required_argument, NULL, 'o'},
	    {"trace", required_argument, NULL, 'f'},   {"service", required_argument, NULL, 'r'},
	    {"control", no_argument, NULL, 'c'},       {NULL, 0, NULL, 0}};
	struct order order = {.states = STATES_DEFAULT,
	                      .only = UINT64_MAX,
	                      .jobs = JOBS_DEFAULT,
	                      .dir = access("/dev/shm", W_OK) ? "." : "/dev/shm"};
	const char  *below = getenv("STAMPEDE_CRASH_DIR");
	int          option;
	bool         seeded = false;
	if (below) order.dir = below;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		take_option(&order, option);
		seeded |= option == 's';
	}
	if (!seeded) order.seed = chance_begin();
	if (!order.seconds) {
		order.seconds = (unsigned)patience_ms(order.is_control ? SECONDS_OF_CONTROL
		                                                       : SECONDS_DEFAULT);
		order.wants_all = order.only == UINT64_MAX && !order.trace && !order.is_control;
	}
	if (order.only != UINT64_MAX) order.jobs = 1;
	if (order.jobs < 1 || order.jobs > JOBS_MAX || order.states < 1) exit(TROUBLE);
	return order;
}

/* Has any job found a violation? All jobs share this memory. */
static bool one_has_found(const struct order *order, const struct job *jobs)
{
	for (unsigned i = 0; i < order->jobs; i++)
		if (jobs[i].what[0]) return true;
	return false;
}

/* A job does every `jobs`th round, until one of them has found a violation. */
static void job_main(const struct order *order, unsigned index, struct job *jobs, int64_t until_s)
{
	uint64_t first = index, rounds = (order->states + STATES_A_ROUND - 1) / STATES_A_ROUND;
	if (order->only != UINT64_MAX) {
		first = order->only / STATES_A_ROUND;
		rounds = first + 1;
	}
	for (uint64_t round = first; round < rounds && !one_has_found(order, jobs); round += order->jobs) {
		struct timespec now;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec >= until_s) return;
		round_run(order, round, until_s, &jobs[index]);
	}
}

static void job_prepare(const struct order *order, unsigned index, struct job *job, const char *dir)
{
	snprintf(job->dir, sizeof job->dir, "%s/%u", dir, index);
	snprintf(job->trace, sizeof job->trace, "%s/trace", job->dir);
	if (order->trace) snprintf(job->trace, sizeof job->trace, "%s", order->trace);
	if (mkdir(job->dir, 0700)) exit(TROUBLE);
}

static pid_t job_start(const struct order *order, unsigned index, struct job *jobs, int64_t until_s)
{
	pid_t parent = getpid(), pid = fork();
	if (pid < 0) exit(TROUBLE);
	if (pid) return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) _exit(TROUBLE);
	job_main(order, index, jobs, until_s);
	_exit(0);
}

static bool job_wait(const struct order *order, pid_t pid, struct job *job)
{
	int status;
	must(waitpid(pid, &status, 0) == pid);
	unsigned long long number = job->number;
	if (status && !job->what[0])
		snprintf(job->what, sizeof job->what, "the process that opened it ended with %s %d",
		         WIFSIGNALED(status) ? "signal" : "status",
		         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	if (!job->what[0]) return true;
	printf("state %llu: %s\n", number, job->what);
	if (order->is_control) return false;
	printf("  to repeat: crash --seed %llu --state %llu --%s %s\n", (unsigned long long)order->seed,
	       number, order->is_service ? "service" : "trace", job->trace);
	return false;
}

/* Returns how many states were tested. */
static uint64_t print_counts(const struct order *order, const struct job *jobs, double seconds)
{
	struct state_counts sum = {.states = 0};
	for (unsigned i = 0; i < order->jobs; i++) {
		const struct state_counts *one = &jobs[i].count;
		sum.states += one->states;
		sum.second += one->second;
		sum.believed += one->believed;
		sum.journal += one->journal;
		sum.snapshot += one->snapshot;
		sum.cut += one->cut;
	}
	printf("seed %llu: %llu states, %.0f a second; %llu after a second crash; tables believed %llu, made "
	       "of the journal "
	       "%llu, of a snapshot %llu; a tail cut %llu\n",
	       (unsigned long long)order->seed, (unsigned long long)sum.states, (double)sum.states / seconds,
	       (unsigned long long)sum.second, (unsigned long long)sum.believed,
	       (unsigned long long)sum.journal, (unsigned long long)sum.snapshot,
	       (unsigned long long)sum.cut);
	return sum.states;
}

int main(int argc, char **argv)
{
	struct order    order = take_options(argc, argv);
	struct timespec begun, ended;
	char            dir[PATH_ROOM - 16];
	pid_t           pids[JOBS_MAX];
	bool            good = true;
	struct job     *jobs = mmap(NULL, JOBS_MAX * sizeof *jobs, PROT_READ | PROT_WRITE,
	                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(dir, sizeof dir, "%s/crash-XXXXXX", order.dir);
	if (jobs == MAP_FAILED || !mkdtemp(dir)) return TROUBLE;
	recorder_spare_disk();
	clock_gettime(CLOCK_MONOTONIC, &begun);
	fflush(NULL);
	for (unsigned i = 0; i < order.jobs; i++) {
		job_prepare(&order, i, &jobs[i], dir);
		pids[i] = job_start(&order, i, jobs, begun.tv_sec + order.seconds);
	}
	for (unsigned i = 0; i < order.jobs; i++)
		good &= job_wait(&order, pids[i], &jobs[i]);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	uint64_t states = print_counts(&order, jobs,
	                               (double)(ended.tv_sec - begun.tv_sec) +
	                                   (double)(ended.tv_nsec - begun.tv_nsec) / 1e9);
	if (good || order.is_control) {
		directory_clear(dir);
		rmdir(dir);
	}
	if (order.is_control || !good) return order.is_control ? good : 1;
	if (!order.wants_all || states >= order.states / ENOUGH_OF) return 0;
	printf("too few: %llu states were to be tested\n", (unsigned long long)order.states);
	return 1;
}
