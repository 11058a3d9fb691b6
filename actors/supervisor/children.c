/* Starts, watches and ends the processes.
 *
 * A child is a new run of this program (fork, then exec of /proc/self/exe), so it begins with one thread and no inherited
 * memory. Between fork and exec only calls are made that are safe after a fork of a threaded process; its arguments are ready
 * before. It gets only the descriptors that it needs, and its own process group, so that a Ctrl-C at the terminal reaches the
 * supervisor alone. The kernel kills it when the supervisor's main thread ends. */
#include "actors/supervisor/children.h"
#include "actors/rt/log.h"
#include "actors/rt/time.h"
#include "schemas/err.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXEC_FAILED = 128 /* and errno: the status of a child */, STRANGERS_A_TURN = 64 };

const char *child_state_text(enum child_state state)
{
	static const char *const texts[CHILD_STATE_COUNT] = {
#define CHILD_STATE_AS_TEXT(name, text) [CHILD_##name] = text,
	    CHILD_STATES(CHILD_STATE_AS_TEXT)
#undef CHILD_STATE_AS_TEXT
	};
	return (unsigned)state < CHILD_STATE_COUNT ? texts[state] : "unknown";
}

#define TO(name) (1u << CHILD_##name)

static void set_state(struct child *child, enum child_state state)
{
	static const unsigned edges[CHILD_STATE_COUNT] = {
	    [CHILD_RESTARTING] = TO(STARTING) | TO(STOPPED),
	    [CHILD_STARTING] = TO(READY) | TO(RESTARTING) | TO(STOPPING) | TO(STOPPED),
	    [CHILD_READY] = TO(SILENT) | TO(STARTING) | TO(RESTARTING) | TO(STOPPING) | TO(STOPPED),
	    [CHILD_SILENT] = TO(READY) | TO(STARTING) | TO(RESTARTING) | TO(STOPPING) | TO(STOPPED),
	    [CHILD_STOPPING] = TO(STOPPED),
	};
	must(state == child->state || edges[child->state] & 1u << state);
	child->state = state;
}

static void add(struct children *children, enum role role, uint32_t index)
{
	must(children->count < CHILDREN_MAX);
	children->of[children->count++] = (struct child){
	    .role = role, .index = index, .state = CHILD_RESTARTING, .settings_fd = -1};
}

enum err children_plan(struct children *children, const struct options *options)
{
	*children = (struct children){.options = *options};
	for (unsigned i = 0; i < ROLE_COUNT; i++)
		children->settings_fds[i] = -1;
	children->options.gate_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (children->options.gate_fd < 0) return ERR_IO;
	for (uint32_t i = 0; i < options->shards; i++)
		add(children, ROLE_SHARD, i);
	add(children, ROLE_TIMER, 0);
	add(children, ROLE_HTTP, 0);
	return OK;
}

void children_forget(struct children *children)
{
	if (children->options.gate_fd >= 0) close(children->options.gate_fd);
	children->options.gate_fd = -1;
	for (unsigned i = 0; children->generation && i < ROLE_COUNT; i++)
		if (children->settings_fds[i] >= 0) close(children->settings_fds[i]);
	children->generation = 0;
}

/* ---- settings ---- */

static void send_settings(struct children *children, struct child *child)
{
	enum err err;

	if (child->settings_fd < 0 || child->sent == children->generation) return;
	err = settings_send(child->settings_fd, children->settings_fds[child->role]);
	if (!err) child->sent = children->generation;
	/* A stopped child has no room at some point, and gets the newest settings when it has; an ended one is
	 * restarted. */
	if (err && err != ERR_WOULD_BLOCK && err != ERR_PEER_GONE)
		log_warn("settings_not_sent", "child=%s-%u code=%s", role_text(child->role), child->index,
		         err_code(err));
}

static void poll_settings(struct children *children)
{
	for (uint32_t i = 0; i < children->count; i++) {
		struct child *child = &children->of[i];
		send_settings(children, child);
		while (child->settings_fd >= 0 && !child_is_settled(children, child) &&
		       settings_hear_taken(child->settings_fd, &child->taken) == OK)
			continue;
	}
}

bool child_is_settled(const struct children *children, const struct child *child)
{
	return child->settings_fd < 0 || child->taken == children->generation;
}

bool children_are_settled(const struct children *children)
{
	for (uint32_t i = 0; i < children->count; i++)
		if (!child_is_settled(children, &children->of[i])) return false;
	return true;
}

/* Includes only the files for this role. */
static enum err seal_for(enum role role, uint64_t generation, const struct options *options,
                         const struct span files[SETTINGS_FILE_COUNT], int *fd)
{
	static const enum role owners[SETTINGS_FILE_COUNT] = {
#define SETTINGS_FILE_AS_OWNER(name, field, option, role) role,
	    SETTINGS_FILES(SETTINGS_FILE_AS_OWNER)
#undef SETTINGS_FILE_AS_OWNER
	};
	struct span own[SETTINGS_FILE_COUNT] = {{0}};

	for (unsigned i = 0; i < SETTINGS_FILE_COUNT; i++)
		if (owners[i] == role) own[i] = files[i];
	return settings_seal(generation, options, own, fd);
}

enum err children_settle(struct children *children, const struct options *options,
                         const struct span files[SETTINGS_FILE_COUNT])
{
	static const enum role roles[] = {ROLE_HTTP, ROLE_SHARD, ROLE_TIMER};
	enum { ROLES = sizeof roles / sizeof *roles };
	struct options fresh = children->options;
	int            fds[ROLES] = {-1, -1, -1};
	enum err       err = OK;

	options_adopt(&fresh, options);
	for (unsigned i = 0; !err && i < ROLES; i++)
		err = seal_for(roles[i], children->generation + 1, &fresh, files, &fds[i]);
	for (unsigned i = 0; i < ROLES; i++) {
		int *fd = err ? &fds[i] : &children->settings_fds[roles[i]];
		if (*fd >= 0) close(*fd);
		if (!err) *fd = fds[i];
	}
	if (err) return err;
	children->options = fresh;
	children->generation++;
	poll_settings(children);
	return OK;
}

/* ---- starting ---- */

/* The options of this child: sockets only for http; making files and the gate only for shards. */
static void arguments(const struct children *children, const struct child *child, char index[12],
                      struct option_args *args)
{
	struct options options = children->options;

	if (child->role != ROLE_HTTP) options.listen_fd = options.admin_fd = -1;
	if (child->role != ROLE_SHARD) {
		options.may_format = options.restored = false;
		options.gate_fd = -1;
	}
	options.supervisor_pid = (int)getpid();
	snprintf(index, 12, "%u", child->index);
	args->argv[0] = "stampede";
	args->argv[1] = "actor";
	args->argv[2] = role_text(child->role);
	args->argv[3] = index;
	args->argc = 4;
	options_write(&options, args);
}

static void keep_open(int fd)
{
	if (fd >= 0) fcntl(fd, F_SETFD, 0);
}

/* Runs in the child. Standard input is empty, and standard output is the log's: only the supervisor writes to the real one. */
_Noreturn static void become(const struct options *options, enum role role, const struct option_args *args)
{
	int empty;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != options->supervisor_pid) _exit(0);
	setpgid(0, 0);
	empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (empty >= 0) dup2(empty, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	if (role == ROLE_HTTP) {
		keep_open(options->listen_fd);
		keep_open(options->admin_fd);
	}
	if (role == ROLE_SHARD) keep_open(options->gate_fd);
	keep_open(options->counts_fd);
	keep_open(options->settings_fd);
	/* Signals that the supervisor blocks stay blocked until the process sets its own mask. */
	execv("/proc/self/exe", (char *const *)args->argv);
	_exit(EXEC_FAILED + (errno & 127));
}

static void close_settings(struct child *child)
{
	if (child->settings_fd >= 0) close(child->settings_fd);
	child->settings_fd = -1;
}

/* Opens the child's socket with the newest settings in it; options.settings_fd becomes the child's end. */
static bool open_settings(struct children *children, struct child *child)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) return false;
	child->settings_fd = ends[0];
	children->options.settings_fd = ends[1];
	child->sent = child->taken = 0;
	send_settings(children, child);
	return child->sent == children->generation;
}

/* Is the directory with the sockets gone, or another one in its place, while the data directory is there? Then no child can be
 * reached, and the next start of the service makes it. If the data directory is gone, too, each child logs that and starts
 * when it is back: the service does not end, because its next start would make an empty one. */
static bool is_run_removed(const struct children *children)
{
	struct stat opened, named;
	int         dir_fd = open(children->options.data, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool        is_removed = false;

	if (dir_fd < 0) return false;
	if (fstatat(dir_fd, "run", &named, 0))
		is_removed = errno == ENOENT;
	else if (!fstat(children->run_fd, &opened))
		is_removed = named.st_dev != opened.st_dev || named.st_ino != opened.st_ino;
	close(dir_fd);
	return is_removed;
}

static void start(struct children *children, struct child *child, mono_us now)
{
	struct option_args args;
	char               index[12];
	pid_t              pid;

	if (is_run_removed(children)) {
		log_fatal("run_removed",
		          "data=\"%s\" reason=\"the directory run was removed or replaced, with the sockets: "
		          "the service ends, and its next start makes them\"",
		          children->options.data);
		children_stop(children, now, 1);
		return;
	}
	children->options.supervisor_pid = (int)getpid();
	pid = open_settings(children, child) ? 0 : -1;
	arguments(children, child, index, &args);
	child->started = time_mono(); /* `now` may be older than the end of the previous child */
	if (!pid && (pid = fork()) == 0) become(&children->options, child->role, &args);
	if (children->options.settings_fd >= 0) close(children->options.settings_fd);
	children->options.settings_fd = -1;
	if (pid < 0) {
		close_settings(child);
		child->deaths++;
		child->at = mono_after(now, policy_backoff(child->deaths));
		log_warn("fork_failed", "child=%s-%u error=\"%s\"", role_text(child->role), child->index,
		         strerror(errno));
		return;
	}
	set_state(child, CHILD_STARTING);
	child->pid = pid;
	child->epoch = 0;
	child->at = child->heard = now;
	child->is_stopped = false;
	child->signalled = 0;
	log_info("started", "child=%s-%u child_pid=%d", role_text(child->role), child->index, (int)pid);
}

static void log_end(const struct children *children, const struct child *child, int wait_status)
{
	const char *role = role_text(child->role);

	if (children->stopping)
		log_info("ended", "child=%s-%u child_pid=%d", role, child->index, (int)child->pid);
	else if (WIFSIGNALED(wait_status))
		log_warn("died", "child=%s-%u child_pid=%d signal=%d", role, child->index, (int)child->pid,
		         WTERMSIG(wait_status));
	else if (WEXITSTATUS(wait_status) >= EXEC_FAILED)
		log_fatal(
		    "died", "child=%s-%u child_pid=%d reason=\"the program cannot be executed\" error=\"%s\"",
		    role, child->index, (int)child->pid, strerror(WEXITSTATUS(wait_status) - EXEC_FAILED));
	else
		log_warn("died", "child=%s-%u child_pid=%d status=%d", role, child->index, (int)child->pid,
		         WEXITSTATUS(wait_status));
}

static void ended(struct children *children, struct child *child, int wait_status, mono_us now)
{
	struct exit_seen seen = {
	    .stopping = children->stopping,
	    .was_ready = children->was_ready,
	    .by_itself = WIFEXITED(wait_status),
	    .status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0,
	    .lived = mono_since(now, child->at),
	    .deaths = child->deaths,
	};
	struct exit_plan plan = policy_exit(&seen);

	log_end(children, child, wait_status);
	child->pid = 0;
	close_settings(child);
	child->is_judged = false;
	child->epoch = 0;
	child->deaths = plan.deaths;
	if (plan.restart) {
		set_state(child, CHILD_RESTARTING);
		child->at = mono_after(now, plan.wait);
		return;
	}
	set_state(child, CHILD_STOPPED);
	if (plan.give_up) {
		log_fatal("start_failed", "child=%s-%u status=%d", role_text(child->role), child->index,
		          seen.status);
		children_stop(children, now, 1);
	}
}

static bool is_child(const struct children *children, pid_t pid)
{
	for (uint32_t i = 0; i < children->count; i++)
		if (children->of[i].pid == pid) return true;
	return false;
}

/* Orphans of a container become children of its process 1, and a program that started others before it became this one leaves
 * them behind. The look does not take the exit status: that of a child waits for the next turn. */
static void reap_strangers(const struct children *children)
{
	for (unsigned i = 0; i < STRANGERS_A_TURN; i++) {
		siginfo_t seen = {.si_pid = 0};
		if (waitid(P_ALL, 0, &seen, WEXITED | WNOHANG | WNOWAIT) || !seen.si_pid) return;
		if (is_child(children, seen.si_pid)) return;
		(void)waitpid(seen.si_pid, NULL, WNOHANG);
	}
}

static void reap(struct children *children, mono_us now)
{
	int wait_status;

	for (uint32_t i = 0; i < children->count; i++) {
		struct child *child = &children->of[i];
		while (child->pid &&
		       waitpid(child->pid, &wait_status, WNOHANG | WUNTRACED | WCONTINUED) == child->pid) {
			if (WIFSTOPPED(wait_status) || WIFCONTINUED(wait_status))
				child->is_stopped = WIFSTOPPED(wait_status);
			else
				ended(children, child, wait_status, now);
		}
	}
	reap_strangers(children);
}

/* Was this process itself not run, as in a paused virtual machine? Then no child has had that time. */
static bool notice_absence(struct children *children, mono_us now)
{
	dur_us away = mono_since(now, children->ticked);
	children->ticked = now;
	if (away.v <= SILENT_MS / 2 * US_PER_MS) return false;
	if (children->stopping) children->stopping_since.v += away.v;
	return true;
}

/* A child that is stopped or silent is not ready, whatever it reported last. Reports that the supervisor had no time to read
 * count as received. */
static void listen_for_silence(struct children *children, bool we_were_away, mono_us now)
{
	for (uint32_t i = 0; i < children->count; i++) {
		struct child *child = &children->of[i];
		if (we_were_away) child->heard = now;
		bool is_late = mono_since(now, child->heard).v > SILENT_MS * US_PER_MS;
		if (child->state != CHILD_READY || !(child->is_stopped || is_late)) continue;
		set_state(child, CHILD_SILENT);
		log_info("silent", "child=%s-%u child_pid=%d stopped=%d", role_text(child->role),
		         child->index, (int)child->pid, child->is_stopped);
	}
}

/* Starts children that are due; returns the time until the next one. */
static dur_us start_due(struct children *children, mono_us now)
{
	dur_us sleep = {SILENT_MS / 5 * US_PER_MS};

	for (uint32_t i = 0; i < children->count; i++) {
		struct child *child = &children->of[i];
		dur_us        left = mono_since(child->at, now);

		if (child->state != CHILD_RESTARTING) continue;
		if (left.v <= 0)
			start(children, child, now);
		else if (left.v < sleep.v)
			sleep = left;
	}
	return sleep;
}

static void signal_due(struct children *children, mono_us now)
{
	bool alive[ROLE_COUNT] = {false};

	for (uint32_t i = 0; i < children->count; i++)
		alive[children->of[i].role] |= children->of[i].pid != 0;
	for (uint32_t i = 0; i < children->count; i++) {
		struct child *child = &children->of[i];
		int due = policy_stop(child->role, alive, mono_since(now, children->stopping_since));

		if (!child->pid || !due || child->signalled == due) continue;
		if (due == SIGKILL)
			log_warn("killed", "child=%s-%u child_pid=%d reason=\"did not stop in time\"",
			         role_text(child->role), child->index, (int)child->pid);
		kill(child->pid, due);
		child->signalled = due;
		set_state(child, CHILD_STOPPING);
	}
}

dur_us children_tick(struct children *children, mono_us now)
{
	bool we_were_away = notice_absence(children, now);

	reap(children, now);
	poll_settings(children);
	listen_for_silence(children, we_were_away, now);
	if (!children->stopping) return start_due(children, now);
	signal_due(children, now);
	return (dur_us){100 * US_PER_MS};
}

void children_stop(struct children *children, mono_us now, int exit_status)
{
	if (children->stopping) return;
	children->stopping = true;
	children->stopping_since = now;
	children->exit_status = exit_status;
	for (uint32_t i = 0; i < children->count; i++)
		if (children->of[i].state == CHILD_RESTARTING) set_state(&children->of[i], CHILD_STOPPED);
}

bool children_are_gone(const struct children *children, mono_us now)
{
	if (!children->stopping) return false;
	for (uint32_t i = 0; i < children->count; i++)
		if (children->of[i].pid)
			return policy_stop_is_over(mono_since(now, children->stopping_since));
	return true;
}

bool children_report(struct children *children, struct child *child, bool is_ready, uint64_t epoch,
                     mono_us now)
{
	if (child->state != CHILD_STARTING && child->state != CHILD_READY && child->state != CHILD_SILENT)
		return false;
	child->heard = now;
	if (child->is_stopped) return false; /* already logged */
	set_state(child, is_ready ? CHILD_READY : CHILD_STARTING);
	child->epoch = epoch;
	if (children->was_ready || children->stopping) return false;
	for (uint32_t i = 0; i < children->count; i++)
		if (children->of[i].state != CHILD_READY) return false;
	children->was_ready = true;
	return true;
}

void children_judged(struct children *children, struct child *child)
{
	if (children->stopping) return;
	child->is_judged = true;
	for (uint32_t i = 0; i < children->count; i++)
		if (children->of[i].role == ROLE_SHARD && !children->of[i].is_judged) return;
	children->is_gate_open = true;
	(void)!eventfd_write(children->options.gate_fd, 1); /* stays readable: it is never read */
}

struct child *children_find(struct children *children, enum role role, uint32_t index)
{
	for (uint32_t i = 0; i < children->count; i++) {
		struct child *child = &children->of[i];
		if (child->role == role && (role == ROLE_HTTP || child->index == index)) return child;
	}
	return NULL;
}
