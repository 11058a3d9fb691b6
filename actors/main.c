/* The one program. What it is to be is its first word: `serve` (the supervisor), `actor ROLE INDEX` (a
 * process that the supervisor or a command starts; not for people), anything else a command of the operator's.
 *
 * No setlocale() here or anywhere: numbers are read and printed the C way. SIGPIPE is ignored in every
 * process: a peer that hung up is an error of a write, not our end. */
#include "actors/roles.h"
#include "actors/rt/environment.h"
#include "actors/rt/log.h"
#include "actors/rt/slices.h"
#include "actors/rt/stdio_wait.h"
#include "ops/cli/cli.h"
#include "schemas/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static bool wants_help(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return true;
	return false;
}

/* Options that only a supervisor gives its children. */
static bool has_internal(const struct options *options)
{
	return options->listen_fd >= 0 || options->admin_fd >= 0 || options->gate_fd >= 0 ||
	       options->counts_fd >= 0 || options->settings_fd >= 0 || options->supervisor_pid ||
	       options->may_format || options->restored || options->from || options->lineage ||
	       options->table;
}

static int serve(int argc, char **argv)
{
	struct options options;
	char           why[OPTION_WHY] = "an option of its children's is given";
	int            status = 2;

	stdio_wait();
	if (wants_help(argc, argv)) return cli_print_help("serve", NULL);
	if (options_read(argc, argv, &options, why) || options_fit(&options, why) || has_internal(&options)) {
		cli_help(stderr, "serve", NULL);
		fprintf(stderr, "stampede: %s\n", why); /* last, where it is seen */
	} else {
		status = supervisor_main(&options);
	}
	options_free(&options);
	return status;
}

static int (*main_of(const char *role))(const struct options *)
{
	if (!strcmp(role, role_text(ROLE_HTTP))) return http_main;
	if (!strcmp(role, role_text(ROLE_SHARD))) return shard_main;
	if (!strcmp(role, role_text(ROLE_TIMER))) return timer_main;
	if (!strcmp(role, "check")) return check_main;
	if (!strcmp(role, "restore")) return restore_main;
	if (!strcmp(role, "dump")) return dump_main;
	return NULL;
}

/* For a process that ends before it opens its log: the line has the format that was read before the fault. Processes outside a
 * service have no role. */
static void open_log(const char *name, int index, const struct options *options)
{
	const struct log_options log = {options->log_format, options->log_level, options->counts_fd};

	for (enum role role = 0; role < ROLE_COUNT; role++)
		if (!strcmp(name, role_text(role))) log_open(role, index, &log);
}

static int actor(int argc, char **argv)
{
	struct options options = {0};
	char           why[OPTION_WHY] = "wants ROLE INDEX and its supervisor's options", name[16];
	int (*role_main)(const struct options *) = argc >= 2 ? main_of(argv[0]) : NULL;
	char *end = NULL;
	long  index = argc >= 2 ? strtol(argv[1], &end, 10) : -1;
	int   status = 1;

	if (!role_main || index < 0 || index > INT16_MAX || *end) {
		log_fatal("bad_option", "reason=\"%s\"", why);
	} else if (options_read(argc - 2, argv + 2, &options, why)) {
		open_log(argv[0], (int)index, &options);
		log_fatal("bad_option", "reason=\"%s\"", why);
	} else {
		/* What ps and top show: they would say "exe" otherwise. */
		snprintf(name, sizeof name, "stampede:%s", argv[0]);
		prctl(PR_SET_NAME, name);
		options.index = (int)index;
		if (role_main == http_main || role_main == shard_main) short_slices();
		status = role_main(&options);
	}
	options_free(&options);
	return status;
}

/* The parent may have closed some of the first three descriptors. No socket or file of ours may get their numbers: a write to
 * such an output has to fail. */
static bool fill_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd) return false;
	return true;
}

/* No key reaches a disk by a crash. The limit of 0 keeps core files away; the filter takes all memory out of what a pipe to
 * the system's collector gets, which the limit does not stop. A debugger may still attach. Children inherit both. */
static void keep_memory_out_of_cores(void)
{
	const char   *wish = getenv("STAMPEDE_CORES");
	bool          is_kept = wish && !strcmp(wish, "keep");
	struct rlimit limit;
	int           fd;

	if (!is_kept) {
		fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1) prctl(PR_SET_DUMPABLE, 0);
		if (fd >= 0) close(fd);
	}
	if (getrlimit(RLIMIT_CORE, &limit)) return;
	limit.rlim_cur = is_kept ? limit.rlim_max : 0; /* most shells have 0 as the soft limit */
	(void)setrlimit(RLIMIT_CORE, &limit);
}

/* What a parent may have left us that our work would fail by. An ignored SIGCHLD takes the exit status of children from
 * waitpid(). A umask is for others: one that takes the owner's own bits makes files that we could not open again. */
static void settle_inheritance(void)
{
	signal(SIGCHLD, SIG_DFL);
	umask(umask(S_IRWXU | S_IRWXG | S_IRWXO) & (S_IRWXG | S_IRWXO));
}

int main(int argc, char **argv)
{
	if (!fill_standard_descriptors()) {
		fprintf(stderr,
		        "stampede: a standard descriptor is closed, and /dev/null cannot be opened: %s\n",
		        strerror(errno));
		return 1;
	}
	settle_inheritance();
	keep_memory_out_of_cores();
	environment_clean();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error of the write, like a full disk */
	if (argc >= 2 && !strcmp(argv[1], "serve")) return serve(argc - 2, argv + 2);
	if (argc >= 2 && !strcmp(argv[1], "actor")) return actor(argc - 2, argv + 2);
	return cli_main(argc - 1, argv + 1);
}
