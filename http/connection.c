/* The connections of a thread: how they begin and end, what they hold together, and their timeouts.
 *
 * A connection ends with its socket, except after a final answer. If the socket were closed with unread bytes, the kernel
 * would send a reset, and the client might lose the answer. So a duplicate of the descriptor is kept, shut down for writing,
 * and read until the client closes, for a limited time.
 *
 * h2o has no call to end a connection that it holds. Shutting down the socket makes h2o's next read or write fail, and h2o
 * then releases the connection. */
#include "http/connection.h"
#include "http/peers.h"

#include <fcntl.h>
#include <h2o/http1.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct connection *connection_of_link(h2o_linklist_t *link)
{
	return H2O_STRUCT_FROM_MEMBER(struct connection, all, link);
}

/* --- begin --- */

static void end(struct connection *connection);

static void on_close(void *connection)
{
	end(connection);
}

static void begin_http(struct connection *connection)
{
	struct http_thread *thread = connection->thread;
	h2o_accept_ctx_t   *accept = connection->admin ? &thread->accept_admin : &thread->accept_public;
	h2o_buffer_t      **input = &connection->socket->input;
	/* Bytes that came with the end of the handshake must not be parsed by h2o yet. */
	buffer_append(&connection->ahead, (*input)->bytes, (*input)->size);
	h2o_buffer_consume(input, (*input)->size);
	if (connection->ahead.failed || !connection_charge_ahead(connection)) {
		h2o_socket_close(connection->socket);
		return;
	}
	h2o_http1_accept(accept, connection->socket, *h2o_get_timestamp(accept->ctx, NULL, NULL));
	connection_start(connection);
}

/* A client that speaks clear text gets an answer that it can read. What does not fit into the socket is lost. */
static void refuse_clear_text(struct http_thread *thread, h2o_socket_t *socket)
{
	char id[REQUEST_ID_BYTES], body[160], answer[320];
	thread_request_id(thread, id);
	int size = snprintf(body, sizeof body,
	                    "{\"code\":\"INVALID_REQUEST\",\"message\":\"This port takes HTTPS, not HTTP.\","
	                    "\"request_id\":\"%.*s\"}",
	                    REQUEST_ID_BYTES, id);
	size = snprintf(answer, sizeof answer,
	                "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nX-Request-Id: %.*s\r\n"
	                "Connection: close\r\nContent-Length: %d\r\n\r\n%s",
	                REQUEST_ID_BYTES, id, size, body);
	(void)!send(h2o_socket_get_fd(socket), answer, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_handshake(h2o_socket_t *socket, const char *error)
{
	if (error) {
		unsigned long cause = ERR_peek_last_error();
		if (ERR_GET_LIB(cause) == ERR_LIB_SSL && ERR_GET_REASON(cause) == SSL_R_HTTP_REQUEST)
			refuse_clear_text(((struct connection *)socket->on_close.data)->thread, socket);
		ERR_clear_error();
		h2o_socket_close(socket);
	} else {
		begin_http(socket->on_close.data);
	}
}

/* Closes with a reset, so that a client above its limit costs not even the memory of a closed connection. */
static void reset(h2o_socket_t *socket)
{
	static const struct linger none = {.l_onoff = 1};
	setsockopt(h2o_socket_get_fd(socket), SOL_SOCKET, SO_LINGER, &none, sizeof none);
	h2o_socket_close(socket);
}

static bool is_let_in(struct connection *connection)
{
	struct peers           *peers = connection->thread->service->peers;
	struct sockaddr_storage from;
	struct sockaddr        *address = (struct sockaddr *)&from;
	unsigned                max = thread_options(connection->thread)->connections_per_address;
	if (connection->admin) return true;
	if (!h2o_socket_getpeername(connection->socket, address)) return true; /* gone already */
	if (!peer_of(address, &connection->peer)) return true;
	connection->is_counted = peers_enter(peers, &connection->peer, max ? max : UINT_MAX);
	return connection->is_counted || !max;
}

void connection_open(struct http_thread *thread, h2o_socket_t *socket, bool admin)
{
	struct connection *connection = calloc(1, sizeof *connection);
	SSL_CTX           *tls = admin ? NULL : thread->live->tls;
	if (!connection) {
		h2o_socket_close(socket);
		return;
	}
	*connection = (struct connection){
	    .thread = thread, .socket = socket, .admin = admin, .is_known = admin, .linger_fd = -1};
	if (!is_let_in(connection)) {
		metrics_refused(&thread->metrics);
		reset(socket);
		free(connection);
		return;
	}
	connection->since = thread_now(thread);
	entry_take(connection_table_of(connection), &connection->entry, ENTRY_UNFINISHED, connection->since);
	h2o_linklist_insert(&thread->connections, &connection->all);
	socket->on_close.cb = on_close;
	socket->on_close.data = connection;
	if (!tls) {
		begin_http(connection);
		return;
	}
	/* h2o makes the TLS session from it when the first bytes arrive, perhaps after a reload. */
	SSL_CTX_up_ref(tls);
	connection->tls = tls;
	h2o_socket_ssl_handshake(socket, tls, NULL, on_handshake);
}

/* --- end --- */

static void free_connection(struct connection *connection)
{
	h2o_linklist_unlink(&connection->all);
	if (h2o_linklist_is_linked(&connection->ready)) h2o_linklist_unlink(&connection->ready);
	connection_uncharge(connection);
	if (connection->gone) *connection->gone = true;
	if (connection->linger_fd >= 0) close(connection->linger_fd);
	connection_drop_ahead(connection);
	entry_free(connection_table_of(connection), &connection->entry);
	if (connection->is_counted) peers_leave(connection->thread->service->peers, &connection->peer);
	SSL_CTX_free(connection->tls);
	free(connection);
}

static void on_late_bytes(h2o_socket_t *socket, const char *error)
{
	struct connection *connection = socket->on_close.data;
	char               waste[65536];
	ssize_t            got = error ? 0 : recv(h2o_socket_get_fd(socket), waste, sizeof waste, 0);
	connection->lingered += got > 0 ? (size_t)got : 0;
	if (got <= 0 || connection->lingered > LINGER_BYTES) h2o_socket_close(socket);
}

static void linger(struct connection *connection)
{
	if (connection->linger_fd < 0)
		connection->linger_fd = fcntl(h2o_socket_get_fd(connection->socket), F_DUPFD_CLOEXEC, 0);
}

static void end(struct connection *connection)
{
	int  fd = connection->linger_fd;
	bool lingers = fd >= 0 && connection->state == CONNECTION_CLOSING && !connection->doomed &&
	               !shutdown(fd, SHUT_WR);
	if (!lingers) {
		free_connection(connection);
		return;
	}
	connection_uncharge(connection);
	connection_drop_ahead(connection);
	connection->linger_fd = -1; /* belongs to the new socket */
	connection_turn(connection, CONNECTION_LINGERING);
	connection->socket = h2o_evloop_socket_create(connection->thread->context.loop, fd,
	                                              H2O_SOCKET_FLAG_DONT_READ);
	connection->socket->on_close.cb = on_close;
	connection->socket->on_close.data = connection;
	h2o_socket_read_start(connection->socket, on_late_bytes);
}

void connection_answering(struct connection *connection, size_t size, bool persistent)
{
	if (!persistent) linger(connection);
	connection_turn(connection, CONNECTION_ANSWERING);
	connection->pace = (struct pace){
	    .last = 0}; /* started by the first sweep: most answers are done by then */
	connection_count_answer(connection, size);
}

void connection_done(struct connection *connection, bool persistent)
{
	connection_uncharge(connection);
	if (connection->doomed) persistent = false;
	connection->has_served = true;
	connection_turn(connection, persistent ? CONNECTION_IDLE : CONNECTION_CLOSING);
	if (persistent && !h2o_linklist_is_linked(&connection->ready))
		h2o_linklist_insert(&connection->thread->ready, &connection->ready);
}

void connections_free(struct http_thread *thread)
{
	while (!h2o_linklist_is_empty(&thread->connections)) {
		struct connection *connection = connection_of_link(thread->connections.next);
		connection->socket->on_close.cb = NULL;
		if (connection->state == CONNECTION_LINGERING)
			h2o_socket_close(connection->socket); /* h2o does not know this socket */
		free_connection(connection);
	}
}

/* --- once a turn --- */

bool connections_feed(struct http_thread *thread)
{
	bool fed = false;
	/* A connection that is fed may be answered at once, but returns here only through the loop. */
	while (!h2o_linklist_is_empty(&thread->ready)) {
		struct connection *connection = H2O_STRUCT_FROM_MEMBER(struct connection, ready,
		                                                       thread->ready.next);
		h2o_linklist_unlink(&connection->ready);
		fed |= connection->prefetch_at < connection->ahead.size;
		connection_start(connection);
	}
	return fed;
}

bool connections_receive(const struct http_thread *thread)
{
	for (h2o_linklist_t *link = thread->connections.next; link != &thread->connections; link = link->next)
		if (connection_of_link(link)->state == CONNECTION_BODY) return true;
	return false;
}

/* --- timeouts --- */

static bool is_stalled(struct connection *connection, mono_us now)
{
	uint64_t moved = pace_acknowledged(h2o_socket_get_fd(connection->socket));
	uint64_t held = answers_held(connection->thread->service);
	bool stopping = atomic_load_explicit(&connection->thread->service->stopping, memory_order_relaxed);
	bool pressed = stopping || pace_presses(held, connection->answer_charge);
	if (connection->pace.since.v == 0) pace_begin(&connection->pace, now, moved);
	return !pace_holds_pressed(&connection->pace, now, moved, pressed);
}

static bool is_late(struct connection *connection, mono_us now)
{
	int64_t waited_ms = mono_since(now, connection->since).v / US_PER_MS;
	switch (connection->state) {
	case CONNECTION_HANDSHAKE: return waited_ms > HANDSHAKE_MS;
	case CONNECTION_IDLE: return waited_ms > thread_options(connection->thread)->keep_alive.v / US_PER_MS;
	case CONNECTION_HEAD: return waited_ms > HEAD_READ_MS;
	case CONNECTION_BODY:
		return waited_ms > BODY_READ_MS || !pace_holds(&connection->pace, now, connection->body_size);
	case CONNECTION_WAITING: return false; /* the call has its own deadline */
	case CONNECTION_ANSWERING: return is_stalled(connection, now);
	case CONNECTION_CLOSING:
	case CONNECTION_LINGERING: break;
	}
	return waited_ms > LINGER_MS;
}

/* Makes a connection leave. h2o releases a connection that it holds within a turn or two. */
static void dismiss(struct connection *connection)
{
	connection_doom(connection);
	entry_leave(connection_table_of(connection), &connection->entry);
	if (connection->state == CONNECTION_LINGERING)
		h2o_socket_close(connection->socket);
	else
		shutdown(h2o_socket_get_fd(connection->socket), SHUT_RDWR);
}

/* How many connections of the listener wait to be accepted, if no place is free. */
static unsigned waiting_outside(const struct http_thread *thread)
{
	struct tcp_info info = {0};
	socklen_t       size = sizeof info;
	if (!thread->listener || !connection_table_is_full(&thread->table)) return 0;
	int fd = h2o_socket_get_fd(thread->listener);
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) ? 0 : info.tcpi_unacked;
}

/* Strangers can hold many places by half a body or an unread answer, and cost nothing to turn away. */
static void judge_pace(struct connection *connection, int64_t newcomer_ms, mono_us now)
{
	if (connection->state != CONNECTION_BODY && connection->state != CONNECTION_ANSWERING) return;
	bool slow = pace_is_slow(&connection->pace, now, connection->is_known ? EVICT_AFTER_MS : newcomer_ms);
	entry_change(connection_table_of(connection), &connection->entry, slow ? ENTRY_SLOW : ENTRY_FIRM,
	             now);
}

/* This process was not run for a while, and the clients' packets of that time are not read yet: it does not count. */
static void forgive(struct http_thread *thread, dur_us away, mono_us now)
{
	for (h2o_linklist_t *link = thread->connections.next; link != &thread->connections;
	     link = link->next) {
		struct connection *connection = connection_of_link(link);
		connection->since = mono_sooner(mono_after(connection->since, away), now);
		pace_forgive(&connection->pace, away, now);
	}
}

void connections_sweep(struct http_thread *thread, mono_us now)
{
	enum { SWEEP_MS = 250, SWEEP_PRESSED_MS = 25, AWAY_MS = 1000 };
	dur_us  passed = mono_since(now, thread->swept);
	int64_t newcomer_ms = NEWCOMER_MS;
	if (passed.v < SWEEP_PRESSED_MS * US_PER_MS) return;
	/* Where places are few, several generations of strangers may stand before a client, which should not wait for a second. */
	unsigned places = thread->table.max, waiting = waiting_outside(thread);
	thread->is_pressed = waiting > places;
	if (thread->is_pressed)
		newcomer_ms = NEWCOMER_MS * places / (places + waiting);
	else if (passed.v < SWEEP_MS * US_PER_MS)
		return;
	if (thread->swept.v && passed.v > AWAY_MS * US_PER_MS) forgive(thread, passed, now);
	thread->swept = now;
	h2o_linklist_t *next;
	for (h2o_linklist_t *link = thread->connections.next; link != &thread->connections; link = next) {
		struct connection *connection = connection_of_link(link);
		next = link->next;
		if (is_late(connection, now)) {
			metrics_closed(&thread->metrics, connection->state);
			dismiss(connection);
		} else {
			judge_pace(connection, newcomer_ms, now);
		}
	}
}

/* --- full table --- */

/* A request that has arrived unread counts as in progress. */
static bool has_bytes(const struct connection *connection)
{
	int bytes = 0;
	return ioctl(h2o_socket_get_fd(connection->socket), FIONREAD, &bytes) == 0 && bytes > 0;
}

struct connection *connections_first(struct http_thread *thread, bool admin)
{
	struct connection_table *table = admin ? &thread->admin_table : &thread->table;
	mono_us                  now = thread_now(thread);
	struct table_entry      *entry;
	while ((entry = connection_table_first(table, now))) {
		struct connection *connection = H2O_STRUCT_FROM_MEMBER(struct connection, entry, entry);
		if (connection->state != CONNECTION_IDLE || !has_bytes(connection)) return connection;
		entry_change(table, entry, ENTRY_FIRM, now); /* until it is read, this turn or the next */
	}
	return NULL;
}

void connection_evict(struct connection *connection)
{
	bool is_silent = connection->state == CONNECTION_IDLE && !connection->has_served;
	metrics_evicted(&connection->thread->metrics, is_silent ? CONNECTION_HEAD : connection->state);
	dismiss(connection);
}
