/* `stampede serve`: checks everything that can be checked, takes the data directory and the ports, starts the processes, and
 * watches them until it is stopped. It holds no data: killing it loses nothing, and the processes end with it.
 *
 * The order matters. Everything that may fail for an operator's reason (options, certificate, another instance, ports) comes
 * before anything is created, so that a refused start leaves no trace. Then one loop, on the thread that forks: signals, the
 * status server's channel, and the time of the next restart. */
#include "actors/roles.h"
#include "actors/rt/log.h"
#include "actors/rt/host.h"
#include "actors/rt/log_file.h"
#include "actors/rt/loop.h"
#include "actors/rt/outlet.h"
#include "actors/rt/signals.h"
#include "actors/rt/time.h"
#include "actors/rt/trace.h"
#include "actors/supervisor/children.h"
#include "actors/supervisor/status_server.h"
#include "actors/supervisor/datadir_setup.h"
#include "actors/supervisor/listen.h"
#include "actors/supervisor/means.h"
#include "actors/supervisor/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct supervisor {
	struct options        options; /* completed: real ports, shards, public URL */
	struct datadir_setup  home;
	struct children       children;
	struct reload         reload;
	struct files          files; /* until the children have them */
	struct status_server *server;
	struct loop           loop;
	int                   listen_fd, admin_fd, signal_fd;
	int                   out_fd; /* the operator's stdout: one line goes there */
	char                  listen[ADDRESS_TEXT], admin[ADDRESS_TEXT], public_url[ADDRESS_TEXT + 8];
};

/* The number of shards was fixed when the directory was created. */
static enum err settle_shards(struct supervisor *self)
{
	uint32_t asked = self->options.shards, fixed = self->home.datadir.identity.shards;

	if (asked && asked != fixed) {
		log_fatal("bad_option",
		          "option=--shards asked=%u reason=\"the data directory has %u, for good\"", asked,
		          fixed);
		return ERR_BAD_OPTION;
	}
	self->options.shards = fixed;
	return OK;
}

/* Without --memory it is a part of what the service may use, which the children get. */
static enum err settle_memory(struct options *options, uint32_t shards)
{
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	if (!options->memory_bytes) {
		options->memory_bytes = (int64_t)policy_memory(host_memory_bytes(), shards);
		return OK;
	}
	if ((uint64_t)options->memory_bytes <= machine / shards) return OK;
	log_fatal(
	    "bad_option",
	    "option=--memory asked=%lld machine=%llu reason=\"the machine does not have that many bytes "
	    "for each of %u shards\"",
	    (long long)options->memory_bytes, (unsigned long long)machine, shards);
	return ERR_BAD_OPTION;
}

static enum err check_access_log(const char *path)
{
	if (!path || !strcmp(path, "-") || log_file_check(path)) return OK;
	log_fatal("bad_option", "option=--access-log file=\"%s\" error=\"%s\"", path, log_file_error(errno));
	return ERR_BAD_OPTION;
}

/* Everything that may refuse the start; only the last step creates anything. */
static enum err settle(struct supervisor *self)
{
	struct options *options = &self->options;
	uint32_t        by_cores = policy_shards(host_processors());
	uint32_t        shards = options->shards ? options->shards : by_cores;
	uint32_t        threads = options->http_threads ? options->http_threads : by_cores;
	enum err        err, opened;

	if ((err = means_of_process()) ||
	    (err = reload_open(&self->reload, options, &self->files, time_wall())) ||
	    (err = check_access_log(options->access_log)))
		return err;
	opened = datadir_setup_open(options->data, &self->home);
	if (opened && opened != ERR_NOT_FOUND) return opened;
	if (!opened && (err = settle_shards(self))) return err;
	if (!opened) shards = options->shards;
	if ((err = settle_memory(options, shards)) || (err = means_of_descriptors(shards, threads)) ||
	    (err = means_of_memory(threads, (uint64_t)options->memory_bytes)) ||
	    (err = means_of_tasks(shards, threads)))
		return err;
	if ((err = listen_open("--listen", options->listen, &self->listen_fd, self->listen)) ||
	    (err = listen_open("--admin", options->admin, &self->admin_fd, self->admin)))
		return err;
	if (opened && (err = means_of_disk(options->data, shards))) return err;
	if (opened &&
	    ((err = datadir_setup_create(options->data, shards, &self->home)) || (err = settle_shards(self))))
		return err;
	return datadir_setup_await_orphans(&self->home);
}

/* Links then begin with the address of the listener. Nobody can open them if that means every address of this host. */
static void use_listener_as_public_url(struct supervisor *self)
{
	static const char *const every[] = {"0.0.0.0:", "[::]:"};
	struct options          *options = &self->options;

	snprintf(self->public_url, sizeof self->public_url, "%s://%s", options->tls_cert ? "https" : "http",
	         self->listen);
	options->public_url = self->public_url;
	for (size_t i = 0; i < sizeof every / sizeof *every; i++)
		if (!strncmp(self->listen, every[i], strlen(every[i])))
			log_warn("public_url_unset",
			         "public_url=%s reason=\"download links begin with it and lead nowhere: give "
			         "--public-url\"",
			         self->public_url);
}

static void complete_options(struct supervisor *self)
{
	struct options *options = &self->options;

	options->listen = self->listen;
	options->admin = self->admin;
	options->listen_fd = self->listen_fd;
	options->admin_fd = self->admin_fd;
	options->may_format = self->home.datadir.identity.state == IDENTITY_NEW;
	options->restored = self->home.datadir.identity.state == IDENTITY_RESTORED;
	if (!options->public_url) use_listener_as_public_url(self);
}

/* Makes both outputs non-blocking. The operator's stdout still gets one line; whatever a library prints there goes to the log.
 * If this fails, the service runs all the same. */
static void open_log(struct supervisor *self)
{
	struct options    *options = &self->options;
	struct log_options log = {options->log_format, options->log_level, -1};
	enum err           err = log_begin_service(&options->counts_fd);

	log_open(ROLE_SUPERVISOR, 0, &log);
	trace_open();
	if (err) log_warn("log_may_wait", "error=\"%s\"", strerror(errno));
	self->out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	dup2(STDERR_FILENO, STDOUT_FILENO);
}

static enum err cannot_start(const char *what, enum err err)
{
	log_fatal("cannot_start", "what=\"%s\" code=%s error=\"%s\"", what, err_code(err), strerror(errno));
	return err;
}

static enum err open_loop(struct supervisor *self)
{
	char     endpoint[ENDPOINT_TEXT];
	enum err err;

	datadir_supervisor_endpoint(&self->home.datadir, endpoint);
	if ((err = loop_open(&self->loop))) return cannot_start("event loop", err);
	if ((err = status_server_open(&self->server, endpoint, (uint64_t)time_wall().v, &self->children,
	                              &self->reload)) ||
	    (err = loop_watch(&self->loop, self->signal_fd)) ||
	    (err = loop_watch(&self->loop, status_server_fd(self->server))))
		return cannot_start("socket for commands", err);
	return OK;
}

/* Only two signals end the service. HUP, from a closing terminal or log rotation, is a reload. The terminal's stop key is left
 * to the shell's job control; other signals that would stop us are dropped like the rest. */
static void take_signal(struct supervisor *self, struct signal_seen seen, mono_us now)
{
	struct reload_outcome outcome;

	if (seen.number == SIGTERM || seen.number == SIGINT) {
		if (self->children.stopping) return;
		log_info("stopping", "signal=%d", seen.number);
		children_stop(&self->children, now, 0);
	} else if (seen.number == SIGHUP) {
		if (self->children.stopping) return;
		if (reload_run(&self->reload, &self->children, &outcome)) return; /* logged */
	} else if (seen.number == SIGTSTP && seen.is_of_terminal) {
		raise(SIGSTOP);
	} else if (seen.number != SIGCHLD) {
		log_info("signal_dropped", "signal=%d", seen.number);
	}
}

static void take_signals(struct supervisor *self, mono_us now)
{
	struct signal_seen seen;

	while ((seen = signals_next(self->signal_fd)).number)
		take_signal(self, seen, now);
}

/* All are ready for the first time: the directory is complete, and a caller that waits for us may begin. */
static void announce(struct supervisor *self, mono_us now)
{
	char line[2 * ADDRESS_TEXT + 64];

	if (home_settle(&self->home)) {
		children_stop(&self->children, now, 1);
		return;
	}
	self->children.options.may_format = self->children.options.restored = false;
	snprintf(line, sizeof line, "ready http=%s admin=%s pid=%d\n", self->listen, self->admin,
	         (int)getpid());
	outlet_tell_once(self->out_fd, line);
	log_info("ready", "http=%s admin=%s shards=%u memory=%lld", self->listen, self->admin,
	         self->options.shards, (long long)self->options.memory_bytes);
}

/* New connections are refused instead of left waiting: http has the only other copies, and closes them when it begins to
 * drain. */
static void close_listeners(struct supervisor *self)
{
	if (self->listen_fd >= 0) close(self->listen_fd);
	if (self->admin_fd >= 0) close(self->admin_fd);
	self->listen_fd = self->admin_fd = -1;
}

static void watch(struct supervisor *self)
{
	static const dur_us hurry = {20 * US_PER_MS}; /* while a reload waits for the children */

	for (;;) {
		mono_us now = time_mono();
		dur_us  sleep;

		take_signals(self, now);
		if (status_server_pump(self->server, now)) announce(self, now);
		sleep = children_tick(&self->children, now);
		if (self->children.stopping) close_listeners(self);
		if (children_are_gone(&self->children, now)) return;
		loop_wait(&self->loop, status_server_waits(self->server) ? hurry : sleep);
	}
}

static bool has_changed_nothing(const struct supervisor *self)
{
	bool alive = false;

	for (uint32_t i = 0; i < self->children.count; i++)
		alive |= self->children.of[i].pid != 0;
	return !alive && !self->children.is_gate_open;
}

static void close_all(struct supervisor *self)
{
	children_forget(&self->children);
	status_server_close(&self->server);
	if (has_changed_nothing(self)) datadir_setup_undo(&self->home, self->options.data);
	loop_close(&self->loop);
	if (self->signal_fd >= 0) close(self->signal_fd);
	close_listeners(self);
	datadir_setup_close(&self->home);
	files_free(&self->files);
	reload_close(&self->reload);
	if (self->options.counts_fd >= 0) close(self->options.counts_fd);
	if (self->out_fd >= 0) close(self->out_fd);
	log_close();
}

static enum err plan(struct supervisor *self)
{
	struct span files[SETTINGS_FILE_COUNT];
	enum err    err = children_plan(&self->children, &self->options);

	self->children.run_fd = self->home.datadir.run_fd;
	for (unsigned i = 0; i < SETTINGS_FILE_COUNT; i++)
		files[i] = buffer_span(&self->files.of[i]);
	if (!err) err = children_settle(&self->children, &self->options, files);
	files_free(&self->files);
	return err;
}

int supervisor_main(const struct options *options)
{
	struct supervisor self = {
	    .options = *options,
	    .home = {.datadir = {.fd = -1, .run_fd = -1}, .lock_fd = -1},
	    .children.options.gate_fd = -1,
	    .loop = {.epoll_fd = -1},
	    .listen_fd = -1,
	    .admin_fd = -1,
	    .signal_fd = -1,
	    .out_fd = -1,
	};
	enum err err;

	/* Signals first: a stop may come while we wait for a lock, and the threads of log and transport inherit
	 * the mask. */
	err = signals_take(true, &self.signal_fd);
	open_log(&self);
	if (err) {
		cannot_start("signals", err);
		goto out;
	}
	if ((err = settle(&self))) goto out;
	complete_options(&self);
	if ((err = plan(&self))) {
		cannot_start("files for the processes", err);
		goto out;
	}
	if ((err = open_loop(&self))) goto out;
	watch(&self);
	log_info("stopped", "status=%d", self.children.exit_status);
out:
	close_all(&self);
	return err ? 1 : self.children.exit_status;
}
