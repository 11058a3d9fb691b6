/* The loop of one thread. It waits for its listener, its clients' connections, and the descriptors of its sessions with the
 * shards.
 *
 *   turn:  run h2o (connections read; handlers of complete requests only append calls; writes; timeouts)
 *          -> start requests that follow requests answered now
 *          -> flush every session: one message per shard, whatever the number of requests
 *          -> pump every session: replies in, answers out
 *
 * Three properties of the parts determine its form. h2o polls first and runs pending work after it, so answers given outside
 * its callbacks wait for the next event: after such a turn, the next one does not sleep. ZeroMQ's descriptor signals changes
 * only, and sending may consume a signal: every turn pumps, even without a wake-up. h2o must neither read nor close that
 * descriptor: it gets a duplicate and is set not to read. */
#include "http/thread.h"
#include "http/connection.h"
#include "actors/rt/log.h"
#include "actors/rt/random.h"
#include "actors/rt/time.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

enum {
	TURN_MS = 100,         /* the longest sleep: sessions have timeouts too */
	TURN_PRESSED_MS = 25,  /* likewise, while strangers must make room quickly */
	PUMP_BUDGET = 64,      /* messages per session and turn */
	ACCEPT_PER_WAKEUP = 2, /* so that connections spread over the threads */
	ACCEPT_PAUSE_MS = 100, /* pause when the system has no descriptor left */
	ACCEPT_TELL_MS = 5000, /* logged again only after this time without the fault */
	QUIET_MS = 250,        /* a stop waits until no request has arrived for this long */
	/* Request buffers that the loop keeps: this many requests at once need no allocation. */
	LIST_CACHE_BUFFERS = 256,
};

/* --- calls --- */

static void on_reply(void *user, const struct reply *reply)
{
	struct pending *pending = user;
	if (!(reply->flags & REPLY_MORE)) pending->outstanding = false;
	pending->thread->answered++;
	pending->on_reply(pending, reply);
}

enum err thread_call(struct http_thread *thread, struct pending *pending, uint32_t shard, struct call *head,
                     struct buffer **arguments)
{
	msgpack_packer packer;
	struct rpc    *rpc = thread->rpcs[shard];
	enum err       err = rpc_begin(rpc, head, pending, &packer);
	if (err) return err;
	*arguments = packer.data;
	pending->thread = thread;
	pending->rpc = rpc;
	pending->id = head->id;
	return OK;
}

void pending_send(struct pending *pending)
{
	pending->outstanding = true;
	rpc_commit(pending->rpc);
}

void pending_abort(struct pending *pending)
{
	rpc_abort(pending->rpc);
}

void pending_extend(struct pending *pending, mono_us end)
{
	mono_us deadline = {end.v - CALL_DEADLINE_GRACE_MS * US_PER_MS};
	if (pending->outstanding) rpc_extend(pending->rpc, pending->id, deadline);
}

void pending_forget(struct pending *pending)
{
	if (pending->outstanding) rpc_forget(pending->rpc, pending->id);
	pending->outstanding = false;
}

static bool pump(struct http_thread *thread)
{
	bool more = false;
	for (uint32_t shard = 0; shard < thread->service->shards; shard++)
		more |= rpc_pump(thread->rpcs[shard], thread_now(thread), PUMP_BUDGET);
	return more;
}

/* The turn pumps after the new requests are read: they leave for the shard before these answers are written. */
static void on_session_readable(h2o_socket_t *socket, const char *error)
{
	const struct waker *waker = socket->data;
	(void)error;
	rpc_woken(waker->rpc, waker->what);
}

/* Every turn checks for news from the main thread; this only causes a turn. */
static void on_wake(h2o_socket_t *socket, const char *error)
{
	const struct http_thread *thread = socket->data;
	uint64_t                  count;
	(void)error;
	(void)!read(thread->wake_fd, &count, sizeof count);
}

static enum err watch_wake(struct http_thread *thread)
{
	int own = fcntl(thread->wake_fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0) return ERR_IO;
	thread->wake = h2o_evloop_socket_create(thread->context.loop, own, H2O_SOCKET_FLAG_DONT_READ);
	thread->wake->data = thread;
	h2o_socket_read_start(thread->wake, on_wake);
	return OK;
}

void threads_wake(struct service *service)
{
	const uint64_t one = 1;
	for (unsigned i = 0; i < service->thread_count; i++)
		(void)!write(service->threads[i].wake_fd, &one, sizeof one);
}

static enum err watch(struct http_thread *thread, struct waker *waker, struct rpc *rpc, enum rpc_wake what)
{
	int own = fcntl(what == RPC_WAKE_LINK ? rpc_link_fd(rpc) : rpc_fd(rpc), F_DUPFD_CLOEXEC, 0);
	if (own < 0) return ERR_IO;
	*waker = (struct waker){.rpc = rpc, .what = what};
	waker->socket = h2o_evloop_socket_create(thread->context.loop, own, H2O_SOCKET_FLAG_DONT_READ);
	waker->socket->data = waker;
	h2o_socket_read_start(waker->socket, on_session_readable);
	return OK;
}

static enum err open_sessions(struct http_thread *thread)
{
	uint32_t index = (uint32_t)thread->service->options->index * HTTP_THREADS_MAX + thread->index;
	for (uint32_t shard = 0; shard < thread->service->shards; shard++) {
		char         endpoint[ENDPOINT_TEXT];
		struct rpc **rpc = &thread->rpcs[shard];
		datadir_shard_endpoint(thread->service->datadir, shard, endpoint);
		enum err err = rpc_open(rpc, endpoint, ROLE_HTTP, index, on_reply);
		if (err) return err;
		rpc_want(*rpc, WANTS_KEY_IDS); /* for the access log, which a reload may turn on */
		rpc_count(*rpc, &thread->metrics.traffic[shard]);
		rpc_heeds_wakes(*rpc);
		struct waker *wakers = &thread->wakers[2 * shard];
		if ((err = watch(thread, &wakers[0], *rpc, RPC_WAKE_MAIL))) return err;
		if ((err = watch(thread, &wakers[1], *rpc, RPC_WAKE_LINK))) return err;
	}
	return OK;
}

static void close_sessions(struct http_thread *thread)
{
	if (thread->wake) h2o_socket_close(thread->wake);
	for (uint32_t shard = 0; shard < thread->service->shards; shard++) {
		for (uint32_t i = 2 * shard; i < 2 * shard + 2; i++)
			if (thread->wakers[i].socket) h2o_socket_close(thread->wakers[i].socket);
		rpc_close(&thread->rpcs[shard]);
	}
}

/* --- connections --- */

static bool is_exhausted(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* Without free descriptors a connection is evicted, and the next one is accepted when it is gone, a turn or two later. If none
 * can be evicted, the listener, which would stay readable, is paused. */
static void find_descriptor(struct http_thread *thread, int error)
{
	mono_us now = thread_now(thread);
	if (mono_since(now, thread->accept_told).v > ACCEPT_TELL_MS * US_PER_MS)
		log_warn("descriptors_exhausted", "errno=%d connections=%u", error, thread->table.taken);
	thread->accept_told = now;
	bool waits = connection_table_awaits_leavers(&thread->table) &&
	             mono_since(now, thread->accept_evicted).v < ACCEPT_PAUSE_MS * US_PER_MS;
	if (waits) return;
	thread->accept_evicted = now;
	struct connection *first = connections_first(thread, false);
	if (first)
		connection_evict(first);
	else
		thread->accept_again = mono_after(now, (dur_us){ACCEPT_PAUSE_MS * US_PER_MS});
}

static bool others_have_room(const struct http_thread *thread)
{
	const struct service *service = thread->service;
	for (unsigned i = 0; i < service->thread_count; i++)
		if (i != thread->index &&
		    atomic_load_explicit(&service->threads[i].has_room, memory_order_relaxed))
			return true;
	return false;
}

static void on_connections(h2o_socket_t *listener, const char *error)
{
	struct http_thread      *thread = listener->data;
	bool                     admin = listener == thread->admin_listener;
	struct connection_table *table = admin ? &thread->admin_table : &thread->table;
	for (int i = 0; !error && i < ACCEPT_PER_WAKEUP; i++) {
		bool               full = connection_table_is_full(table);
		struct connection *first = full ? connections_first(thread, admin) : NULL;
		if (full && (!first || (!admin && others_have_room(thread)))) return;
		h2o_socket_t *socket = h2o_evloop_socket_accept(listener);
		if (!socket && is_exhausted(errno)) find_descriptor(thread, errno);
		if (!socket) return;
		if (first) connection_evict(first);
		connection_open(thread, socket, admin);
	}
}

static h2o_socket_t *listen_on(struct http_thread *thread, int fd)
{
	if (fd < 0) return NULL;
	h2o_socket_t *listener = h2o_evloop_socket_create(thread->context.loop, fd,
	                                                  H2O_SOCKET_FLAG_DONT_READ);
	listener->data = thread;
	return listener;
}

static void regulate(h2o_socket_t *listener, bool open)
{
	if (!listener || h2o_socket_is_reading(listener) == open) return;
	if (open)
		h2o_socket_read_start(listener, on_connections);
	else
		h2o_socket_read_stop(listener);
}

/* A listener that cannot be served is not read: new connections wait in the kernel's queue or go to another thread. While any
 * thread has room, no connection is evicted. */
static void regulate_listeners(struct http_thread *thread)
{
	bool able = thread->accept_again.v == 0 || thread_now(thread).v >= thread->accept_again.v;
	if (able) thread->accept_again.v = 0;
	bool room = able && !connection_table_is_full(&thread->table);
	bool yields = able && !room && connection_table_first(&thread->table, thread_now(thread));
	bool admin = able && (!connection_table_is_full(&thread->admin_table) ||
	                      connection_table_first(&thread->admin_table, thread_now(thread)));
	atomic_store_explicit(&thread->has_room, room, memory_order_relaxed);
	regulate(thread->listener, room || (yields && !others_have_room(thread)));
	regulate(thread->admin_listener, admin);
}

/* --- the loop --- */

static void publish_gauges(struct http_thread *thread)
{
	uint64_t up = 0;
	for (uint32_t shard = 0; shard < thread->service->shards; shard++) {
		up += rpc_state(thread->rpcs[shard]) == RPC_UP;
		atomic_store_explicit(&thread->metrics.calls[shard], rpc_outstanding(thread->rpcs[shard]),
		                      memory_order_relaxed);
	}
	atomic_store_explicit(&thread->metrics.sessions_up, up, memory_order_relaxed);
	atomic_store_explicit(&thread->metrics.connections, thread->table.taken, memory_order_relaxed);
	atomic_store_explicit(&thread->metrics.idle, thread->table.counts[ENTRY_IDLE], memory_order_relaxed);
}

bool service_reaches_shards(const struct service *service)
{
	for (unsigned i = 0; i < service->thread_count; i++) {
		uint64_t up = atomic_load_explicit(&service->threads[i].metrics.sessions_up,
		                                   memory_order_relaxed);
		if (up < service->shards) return false;
	}
	return true;
}

static void take_live(struct http_thread *thread)
{
	thread->live = atomic_load_explicit(&thread->service->live, memory_order_acquire);
	atomic_store_explicit(&thread->goes_by, thread->live, memory_order_release);
}

/* One turn; true: the next one must not sleep. */
static bool turn(struct http_thread *thread, bool at_once)
{
	thread->now_is_known = false;
	take_live(thread);
	int sleep_ms = thread->is_pressed ? TURN_PRESSED_MS : TURN_MS;
	if (h2o_evloop_run(thread->context.loop, at_once ? 0 : sleep_ms) != 0) must(errno == EINTR);
	bool fed = connections_feed(thread);
	connections_sweep(thread, thread_now(thread));
	for (uint32_t shard = 0; shard < thread->service->shards; shard++)
		rpc_flush(thread->rpcs[shard], thread_now(thread));
	unsigned answered = thread->answered;
	bool     more = pump(thread);
	publish_gauges(thread);
	/* Otherwise a shard that wakes on this processor waits until the time slice of this thread ends. */
	if (more) sched_yield();
	return more || fed || thread->answered != answered;
}

static void serve(struct http_thread *thread)
{
	bool more = false;
	while (!atomic_load_explicit(&thread->service->stopping, memory_order_relaxed)) {
		regulate_listeners(thread);
		more = turn(thread, more);
	}
}

/* Finishes open requests. No connections are accepted and each answer closes its own. Requests that were on their way, or
 * whose body is still arriving, are still taken. */
static void drain(struct http_thread *thread)
{
	mono_us begun = time_mono(), now = begun;
	bool    more = true;
	h2o_socket_close(thread->listener);
	thread->listener = NULL;
	if (thread->admin_listener) h2o_socket_close(thread->admin_listener);
	h2o_context_request_shutdown(&thread->context);
	while (mono_since(now, begun).v < STOP_WAIT_MS * US_PER_MS) {
		more = turn(thread, more);
		now = thread_now(thread);
		mono_us quiet_since = thread->last_request.v > begun.v ? thread->last_request : begun;
		bool    quiet = mono_since(now, quiet_since).v >= QUIET_MS * US_PER_MS;
		bool    receives = mono_since(now, begun).v < STOP_BODY_MS * US_PER_MS &&
		                connections_receive(thread);
		if (thread->in_flight == 0 && quiet && !receives) break;
		if (thread->table.taken == 0 && thread->admin_table.taken == 0) break;
	}
	if (thread->in_flight)
		log_warn("requests_dropped", "count=%u thread=%u", thread->in_flight, thread->index);
}

static enum err open_thread(struct http_thread *thread)
{
	struct service    *service = thread->service;
	struct random_pool pool = {0};
	random_take(&pool, &thread->id_base, sizeof thread->id_base);
	h2o_linklist_init_anchor(&thread->connections);
	h2o_linklist_init_anchor(&thread->ready);
	connection_table_open(&thread->table, service->connections_max);
	connection_table_open(&thread->admin_table, CONNECTIONS_ADMIN_MAX);
	h2o_socket_buffer_prototype.allocator.max = LIST_CACHE_BUFFERS; /* of this thread only */
	h2o_context_init(&thread->context, h2o_evloop_create(), &service->config);
	thread->accept_public.ctx = thread->accept_admin.ctx = &thread->context;
	thread->accept_public.hosts = service->public_hosts;
	thread->accept_admin.hosts = service->admin_hosts;
	thread->listener = listen_on(thread, thread->listen_fd);
	thread->admin_listener = listen_on(thread, thread->admin_fd);
	enum err err = watch_wake(thread);
	return err ? err : open_sessions(thread);
}

void *thread_main(void *argument)
{
	struct http_thread *thread = argument;
	enum err            err = open_thread(thread);
	if (err) {
		log_fatal("thread_not_started", "thread=%u code=%s", thread->index, err_code(err));
		atomic_store(&thread->service->failed, true);
	} else {
		serve(thread);
		drain(thread);
	}
	connections_free(thread);
	close_sessions(thread);
	arena_free(&thread->memory.arena);
	buffer_free(&thread->memory.scratch);
	buffer_free(&thread->body);
	sem_post(&thread->service->ended);
	/* h2o has no call to free what it keeps for a thread, so the thread stays until the process ends. */
	for (;;)
		pause();
}
