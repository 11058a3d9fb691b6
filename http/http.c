/* The HTTP process: a main thread that talks to the supervisor, and N serving threads. Each serving thread has a loop, a share
 * of the connections and its own sessions, so they share nothing on a request's path. The process is stateless: killing it
 * loses no acknowledged request. */
#include "actors/rpc/child.h"
#include "actors/roles.h"
#include "actors/rt/host.h"
#include "actors/rt/log.h"
#include "actors/rt/needs.h"
#include "actors/rt/time.h"
#include "http/access_log.h"
#include "http/admin.h"
#include "http/badges.h"
#include "http/kits.h"
#include "http/live.h"
#include "http/openapi.h"
#include "http/peers.h"
#include "http/request.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/* Hosts differ by listener, not by name: every request of a listener goes to its one host's fallback path. */
static h2o_hostconf_t *add_host(struct service *service, const char *name,
                                int (*on_request)(h2o_handler_t *, h2o_req_t *))
{
	h2o_hostconf_t *host = h2o_config_register_host(&service->config, h2o_iovec_init(name, strlen(name)),
	                                                65535);
	h2o_handler_t  *handler = h2o_create_handler(&host->fallback_path, sizeof *handler);
	handler->on_req = on_request;
	host->fallback_path.error_log.emit_request_errors = 0;
	return host;
}

static void configure(struct service *service)
{
	/* h2o measures by the wall clock, which may step by years. But it subtracts this from the time since 1970. */
	static const uint64_t never_ms = UINT64_C(1000) * 10 * 365 * 24 * 3600;
	h2o_globalconf_t     *config = &service->config;

	h2o_config_init(config);
	config->server_name = h2o_iovec_init(NULL, 0);
	config->http1.upgrade_to_http2 = 0; /* neither by Upgrade nor by prior knowledge */
	/* connection.c has the read timeouts, and no body reaches h2o. */
	config->http1.req_timeout = never_ms;
	config->max_request_entity_size = 0;
	/* h2o would put large buffers into files below /tmp; ours have a common limit. */
	h2o_socket_buffer_mmap_settings.threshold = SIZE_MAX;
	service->public_hosts[0] = add_host(service, "public", on_public_request);
	service->admin_hosts[0] = add_host(service, "admin", on_admin_request);
}

static unsigned default_threads(void)
{
	unsigned half = host_processors() / 2;
	if (half < 1) return 1;
	return half > HTTP_THREADS_MAX ? HTTP_THREADS_MAX : half;
}

/* Raises the descriptor limit as far as possible; connections share what is left beside sessions with shards and all else. */
static unsigned connections_per_thread(unsigned threads, uint32_t shards)
{
	const rlim_t  sessions = (rlim_t)threads * shards * NEEDS_SESSION_DESCRIPTORS;
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit)) return CONNECTIONS_ADMIN_MAX;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) && getrlimit(RLIMIT_NOFILE, &limit))
		return CONNECTIONS_ADMIN_MAX;
	rlim_t left = limit.rlim_cur > sessions ? limit.rlim_cur - sessions : 0;
	left = left > 2 * NEEDS_DESCRIPTORS ? left - NEEDS_DESCRIPTORS : left / 2;
	return left / threads < CONNECTIONS_MAX ? (unsigned)(left / threads) : CONNECTIONS_MAX;
}

static enum err open_wakes(struct service *service)
{
	for (unsigned i = 0; i < service->thread_count; i++)
		service->threads[i].wake_fd = -1;
	for (unsigned i = 0; i < service->thread_count; i++)
		if ((service->threads[i].wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0) return ERR_IO;
	return OK;
}

static void close_wakes(struct service *service)
{
	for (unsigned i = 0; service->threads && i < service->thread_count; i++)
		if (service->threads[i].wake_fd >= 0) close(service->threads[i].wake_fd);
}

/* The master key does not stay in memory. */
static enum err load_serial_keys(struct service *service)
{
	uint8_t  master_key[32];
	enum err err = datadir_master_key(service->datadir, master_key);
	if (!err) err = serial_keys_derive(master_key, &service->serials);
	explicit_bzero(master_key, sizeof master_key);
	return err;
}

static enum err open_service(struct service *service, const struct options *options,
                             const struct datadir *datadir)
{
	unsigned wrong_row;
	enum err err;
	must(routes_are_sound(&wrong_row));
	service->options = options;
	service->datadir = datadir;
	service->shards = datadir->identity.shards;
	if ((err = token_keys_load(datadir, &service->tokens)) || (err = load_serial_keys(service))) {
		log_fatal("master_key_unusable", "file=master.key code=%s", err_code(err));
		return err;
	}
	service->thread_count = options->http_threads ? options->http_threads : default_threads();
	if (service->thread_count > HTTP_THREADS_MAX) service->thread_count = HTTP_THREADS_MAX;
	service->connections_max = connections_per_thread(service->thread_count, service->shards);
	if ((err = peers_open(&service->peers)) || (err = kits_open(&service->kits))) return err;
	configure(service);
	badges_read(service);
	openapi_write(&service->document);
	if (service->document.failed) return ERR_NO_MEMORY;
	service->threads = calloc(service->thread_count, sizeof *service->threads);
	return service->threads ? open_wakes(service) : ERR_NO_MEMORY;
}

/* The first thread serves the inherited listener, the others duplicates. When all have closed theirs while draining, no caller
 * waits for us in a queue. */
static enum err share_listeners(struct service *service)
{
	const struct options *options = service->options;
	for (unsigned i = 0; i < service->thread_count; i++) {
		struct http_thread *thread = &service->threads[i];
		thread->listen_fd = i ? fcntl(options->listen_fd, F_DUPFD_CLOEXEC, 0) : options->listen_fd;
		thread->admin_fd = i ? -1 : options->admin_fd;
		if (thread->listen_fd < 0) return ERR_IO;
	}
	return OK;
}

static enum err start_threads(struct service *service, unsigned *started)
{
	for (*started = 0; *started < service->thread_count; ++*started) {
		struct http_thread *thread = &service->threads[*started];
		pthread_t           id; /* never joined: threads stay to the end */
		thread->service = service;
		thread->index = *started;
		if (pthread_create(&id, NULL, thread_main, thread)) return ERR_NO_MEMORY;
	}
	return OK;
}

enum { PEAK_BYTES = 32 << 20, FALLEN_US = 1000000 };

struct peak {
	uint64_t bytes; /* of bodies and answers, the most since memory was returned */
	mono_us  fell;  /* since when less than a quarter is held again; 0: more is */
};

/* After a peak of bodies and answers, freed pieces lie between others, so that the allocator cannot return them by itself. A
 * thread that allocates meanwhile may wait for some tens of milliseconds. */
static void return_memory(const struct service *service, struct peak *peak, mono_us now)
{
	uint64_t held = bodies_held(service) + answers_held(service);
	if (held > peak->bytes) peak->bytes = held;
	if (peak->bytes < PEAK_BYTES || held > peak->bytes / 4)
		peak->fell.v = 0;
	else if (!peak->fell.v)
		peak->fell = now;
	if (!peak->fell.v || now.v - peak->fell.v < FALLEN_US) return;
	(void)malloc_trim(0);
	*peak = (struct peak){.bytes = held};
}

/* Reports to the supervisor until it is time to stop. Looks often while the supervisor waits for news: all threads are ready,
 * or all use the new settings. */
static enum err report(struct service *service, struct child *child, struct live **before)
{
	enum { LOOK_OFTEN_MS = 5 };
	struct loop loop = {-1};
	struct peak peak = {0};
	bool        ready = false;
	enum err    err = loop_open(&loop);
	if (!err) err = loop_watch(&loop, child_fd(child));
	while (!err && !atomic_load(&service->failed)) {
		bool up = service_reaches_shards(service);
		ready = ready || up;
		child_report(child, up ? "ready" : ready ? "waiting" : "starting", 0, time_mono());
		if (child_stopping(child)) break;
		bool is_awaited = !ready || *before;
		loop_wait(&loop, (dur_us){(is_awaited ? LOOK_OFTEN_MS : CHILD_TURN_MS) * US_PER_MS});
		child_look(child, &loop);
		live_turn(service, child, before);
		return_memory(service, &peak, time_mono());
	}
	loop_close(&loop);
	return err;
}

int http_main(const struct options *options)
{
	struct child          child = {0};
	static struct service service;       /* threads use it until the process ends */
	struct live          *before = NULL; /* threads may still use it */
	unsigned              started = 0;
	enum err              err;
	sem_init(&service.ended, 0, 0);
	if (child_begin(&child, options, ROLE_HTTP)) {
		child_end(&child);
		return 1;
	}
	if ((err = live_begin(&service, &child))) goto out;
	if ((err = open_service(&service, options, &child.datadir))) goto out;
	if ((err = share_listeners(&service)) || (err = start_threads(&service, &started))) goto out;
	log_info("started", "threads=%u shards=%u connections_max=%u", service.thread_count, service.shards,
	         service.connections_max);
	err = report(&service, &child, &before);
out:
	atomic_store(&service.stopping, true);
	if (started) threads_wake(&service);
	for (unsigned i = 0; i < started; i++)
		while (sem_wait(&service.ended) && errno == EINTR)
			continue;
	bool failed = err || atomic_load(&service.failed);
	if (err) log_fatal("stopped", "code=%s", err_code(err));
	if (!failed) log_info("stopped", "code=%s", err_code(OK));
	access_log_close(&service.access);
	child_end(&child);
	live_end(&service, &before);
	close_wakes(&service);
	if (!started) free(service.threads); /* threads keep theirs */
	peers_free(&service.peers);
	kits_free(&service.kits);
	buffer_free(&service.document);
	badges_free(&service);
	return failed;
}
