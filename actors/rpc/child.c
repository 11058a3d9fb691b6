/* A child of the supervisor. The kernel kills it when the supervisor dies. If the supervisor died before that was set up, the
 * parent's pid differs. The process's own loop gets one descriptor: an epoll of the four that matter here (signals, settings,
 * session, its link). */
#include "actors/rpc/child.h"
#include "actors/rt/log.h"
#include "actors/rt/signals.h"
#include "actors/rt/trace.h"
#include "schemas/api/system.h"
#include "schemas/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MESSAGES_A_TURN = 16 };

static enum err tie_to_supervisor(int supervisor_pid)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return ERR_IO;
	return getppid() == supervisor_pid ? OK : ERR_PEER_GONE;
}

/* Reports are repeated soon, so replies do not matter. */
static void on_reply(void *user, const struct reply *reply)
{
	(void)user, (void)reply;
}

/* Each failed step is one line: the supervisor only sees an exit status. Without a supervisor nothing is logged, because it
 * ends all its children. */
static enum err log_failure(const struct options *options, const char *what, enum err err)
{
	if (err && err != ERR_PEER_GONE)
		log_fatal("cannot_start", "code=%s data=\"%s\" what=\"%s\" error=\"%s\"", err_code(err),
		          options->data, what, err_cause(err));
	return err;
}

static enum err watch_all(struct child *child)
{
	enum err err;
	if ((err = loop_open(&child->loop))) return err;
	if ((err = loop_watch(&child->loop, child->signal_fd))) return err;
	if ((err = loop_watch(&child->loop, child->settings_fd))) return err;
	if ((err = loop_watch(&child->loop, rpc_fd(child->rpc)))) return err;
	return loop_watch(&child->loop, rpc_link_fd(child->rpc));
}

/* What one turn frees, the next takes again: a body of a megabyte is copied several times on its way, and the kernel clears
 * each page that a process takes. By itself the allocator would return such pieces at once, or adapt and keep as much as at the
 * peak. */
static void limit_kept_memory(void)
{
	enum { LARGE_BYTES = 4 << 20, KEPT_BYTES = 8 << 20 /* a thread */ };
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES); /* larger pieces return to the system when freed */
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

/* If the host has no memory left, the kernel should end a process that holds no data and is soon replaced, not a shard. */
static void offer_to_kernel(enum role role)
{
	static const char score[] = "300";
	if (role != ROLE_HTTP && role != ROLE_TIMER) return;
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0) return;
	(void)!write(fd, score, sizeof score - 1); /* forbidden at worst: then all are alike */
	close(fd);
}

enum err child_begin(struct child *child, const struct options *options, enum role role)
{
	enum err err;
	char     endpoint[ENDPOINT_TEXT];
	limit_kept_memory();
	offer_to_kernel(role);
	*child = (struct child){.datadir.fd = -1,
	                        .loop.epoll_fd = -1,
	                        .signal_fd = -1,
	                        .settings_fd = options->settings_fd,
	                        .woken = true,
	                        .may_have_settings = true};
	child->supervisor_pid = options->supervisor_pid;
	const struct log_options log = {options->log_format, options->log_level, options->counts_fd};
	log_open(role, options->index, &log);
	trace_open();
	if ((err = tie_to_supervisor(options->supervisor_pid)))
		return log_failure(options, "the supervisor's end cannot be noticed", err);
	if ((err = signals_take(false, &child->signal_fd)))
		return log_failure(options, "signals cannot be received", err);
	if ((err = datadir_open(options->data, &child->datadir)))
		return log_failure(options, "the data directory cannot be opened", err);
	datadir_supervisor_endpoint(&child->datadir, endpoint);
	if ((err = rpc_open(&child->rpc, endpoint, role, (uint32_t)options->index, on_reply)))
		return log_failure(options, "the supervisor's socket cannot be used", err);
	if ((err = watch_all(child))) return log_failure(options, "descriptors cannot be watched", err);
	return OK;
}

void child_end(struct child *child)
{
	rpc_close(&child->rpc);
	loop_close(&child->loop);
	if (child->signal_fd >= 0) close(child->signal_fd);
	if (child->datadir.fd >= 0) datadir_close(&child->datadir);
	if (child->settings_fd >= 0) close(child->settings_fd);
	child->signal_fd = child->settings_fd = child->datadir.fd = -1;
}

bool child_take_settings(struct child *child, struct settings *settings)
{
	if (!child->may_have_settings) return false;
	enum err err = settings_receive(child->settings_fd, settings);
	child->may_have_settings = !err;
	/* A lost supervisor is noticed elsewhere. */
	if (err && err != ERR_WOULD_BLOCK && err != ERR_PEER_GONE)
		log_warn("settings_refused", "code=%s", err_code(err));
	if (!err) log_set_level(settings->options.log_level); /* for all processes, whatever the role */
	return !err;
}

void child_settled(struct child *child, const struct settings *settings)
{
	enum err err = settings_tell_taken(child->settings_fd, settings->generation);
	if (err && err != ERR_PEER_GONE) log_warn("settings_not_sent", "code=%s", err_code(err));
}

static void look_for_stop(struct child *child)
{
	struct signal_seen seen;
	/* A terminal sends INT and HUP to all processes at once; the supervisor decides, and sends TERM. */
	while ((seen = signals_next(child->signal_fd)).number)
		if (seen.number == SIGTERM) child->stopping = true;
	if (getppid() != child->supervisor_pid) child->stopping = true;
}

static void send_report(struct child *child, mono_us now)
{
	struct call    call = {.message = MSG_REPORT};
	msgpack_packer packer;
	call.deadline = mono_after(now, (dur_us){CHILD_REPORT_EVERY_MS * US_PER_MS});
	if (rpc_begin(child->rpc, &call, NULL, &packer)) return;
	msgpack_pack_array(&packer, ARGS_REPORT);
	pack_text(&packer, child->state);
	pack_int(&packer, (int64_t)child->epoch);
	rpc_commit(child->rpc);
	child->reported = true;
	child->report_due = mono_after(now, (dur_us){CHILD_REPORT_EVERY_MS * US_PER_MS});
}

void child_report(struct child *child, const char *state, uint64_t epoch, mono_us now)
{
	bool changed = epoch != child->epoch || strcmp(state, child->state) != 0;
	if (changed) {
		must(strlen(state) < sizeof(child->state));
		memcpy(child->state, state, strlen(state) + 1);
		child->epoch = epoch;
		child->reported = false;
	}
	if (!changed && now.v < child->look_due.v && !child->woken) return;
	child->woken = false;
	child->may_have_settings = true;
	child->look_due = mono_after(now, (dur_us){CHILD_TURN_MS * US_PER_MS});
	look_for_stop(child);
	/* Pumps before, to see the session come up, and after, because a send may consume a wake-up. */
	while (rpc_pump(child->rpc, now, MESSAGES_A_TURN))
		continue;
	if (rpc_state(child->rpc) != RPC_UP) child->reported = false;
	if (!child->reported || now.v >= child->report_due.v) send_report(child, now);
	rpc_flush(child->rpc, now);
	while (rpc_pump(child->rpc, now, MESSAGES_A_TURN))
		continue;
}

bool child_stopping(const struct child *child)
{
	return child->stopping;
}

int child_fd(const struct child *child)
{
	return child->loop.epoll_fd;
}

void child_look(struct child *child, const struct loop *loop)
{
	child->woken |= loop_is_ready(loop, child->loop.epoll_fd);
}
