/* A connection's requests, from the first byte until h2o takes over.
 *
 * h2o's parser cannot be made strict. It answers refusals in plain text, reads bodies without a limit before any handler runs,
 * and has no earlier hook. But a socket calls whatever read callback is set, and here it is ours. Bytes are collected in the
 * socket's own buffer, where h2o expects them. When a request is complete, h2o's callback is called. In place of a refused
 * head h2o sees a harmless one, so that refusals take the path of all answers.
 *
 * Clear-text connections are read by us, as much as the current request needs; h2o is set not to read them. With TLS only h2o
 * can read; early bytes are put aside.
 *
 * While a shard is called, reading is not stopped, but goes to a callback that does nothing. Removing the connection from
 * epoll and adding it again would be two system calls a request, a seventh of this process's time. Only a client that sends
 * meanwhile is removed from epoll.
 *
 * If an answer cannot be sent, h2o would still continue with the next request. So the end of a write also comes through here:
 * once the client is gone, none of its earlier requests is begun. */
#include "http/connection.h"
#include "http/bearer.h"
#include "http/phone_parts.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum {
	/* As large as the buffers that h2o keeps. */
	FIRST_READ_BYTES = 2 * H2O_SOCKET_INITIAL_INPUT_BUFFER_SIZE,
	READ_BYTES = 16384,
	FEED_BYTES = 4096,
	BODY_READ_BYTES_MAX = 1 << 20,
};

static const char standing_in[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
static const char standing_in_head[] = "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n";

static void look(struct connection *connection);
static void on_readable(h2o_socket_t *socket, const char *error);

/* --- giving up --- */

/* h2o closes the connection on a read error, whatever its state. The connection may be gone afterwards. */
static void give_up(struct connection *connection, const char *error)
{
	connection_doom(connection);
	connection->h2o_reads(connection->socket, error);
}

static void on_sent(h2o_socket_t *socket, const char *error)
{
	struct connection *connection = socket->on_close.data;
	if (error || connection->doomed)
		give_up(connection, h2o_socket_error_closed);
	else
		connection->h2o_wrote(socket, NULL);
}

void connection_sending(struct connection *connection)
{
	connection->h2o_wrote = connection->socket->_cb.write;
	connection->socket->_cb.write = on_sent;
}

/* Has the client sent several requests and gone? Asked only after one of them was answered, so that a client that is merely
 * quick pays nothing. */
static bool is_deserted(struct connection *connection)
{
	struct tcp_info info = {0};
	socklen_t       size = sizeof info;
	if (connection->prefetch_at == 0 || connection->prefetch_at == connection->ahead.size) return false;
	if (getsockopt(h2o_socket_get_fd(connection->socket), IPPROTO_TCP, TCP_INFO, &info, &size))
		return true;
	return info.tcpi_state == TCP_CLOSE;
}

/* --- handing over --- */

/* h2o takes the request in the buffer. False: the connection is gone. */
static bool hand_over(struct connection *connection)
{
	bool gone = false;
	connection->gone = &gone;
	connection_turn(connection, CONNECTION_WAITING);
	connection->h2o_reads(connection->socket, NULL);
	if (gone) return false;
	connection->gone = NULL;
	/* h2o does not know of the body and would read it as the next request. */
	connection->socket->input->size = connection->head.size;
	return true;
}

static bool append_input(struct connection *connection, const void *bytes, size_t size)
{
	h2o_iovec_t room = h2o_buffer_reserve(&connection->socket->input, size);
	if (!room.base) return false;
	memcpy(room.base, bytes, size);
	connection->socket->input->size += size;
	return true;
}

/* Records why, for the request's handler, which h2o calls within hand_over(). A name in the reason points into the input. */
static void refuse(struct connection *connection, const struct reason *reason)
{
	connection->refusal = refusal_of(&connection->thread->refusal, reason);
	connection->thread->refusal.field = span_of(NULL, 0);
}

/* h2o must not see this head. */
static void refuse_head(struct connection *connection)
{
	h2o_socket_t *socket = connection->socket;
	bool          is_head = socket->input->size >= 5 && memcmp(socket->input->bytes, "HEAD ", 5) == 0;
	const char   *instead = is_head ? standing_in_head : standing_in;
	refuse(connection, &connection->head.reason);
	connection->is_unread = true;
	h2o_buffer_consume(&socket->input, socket->input->size);
	connection->head = (struct head){.size = strlen(instead)};
	connection->body_size = 0;
	if (append_input(connection, instead, connection->head.size))
		hand_over(connection);
	else
		connection->h2o_reads(socket, h2o_socket_error_out_of_memory);
}

/* A name that begins with x means nothing to h2o. */
static void hide_fields(struct connection *connection)
{
	for (unsigned i = 0; i < connection->head.hidden_count; i++)
		connection->socket->input->bytes[connection->head.hidden[i]] = 'x';
}

/* The head is valid and goes on without its body. So the answer has the caller's request id, and errors with precedence (no
 * key, no such route) are reported first. */
static void refuse_body(struct connection *connection, const struct reason *reason)
{
	refuse(connection, reason);
	connection->body_size = 0;
	connection->socket->input->size = connection->head.size;
	hide_fields(connection);
	hand_over(connection);
}

/* Moves the bytes after the current request back to where they were fed from, or aside. */
static bool put_aside(struct connection *connection, size_t whole)
{
	h2o_buffer_t *input = connection->socket->input;
	size_t        surplus = input->size - whole;
	input->size = whole;
	if (connection->prefetch_at >= surplus && connection->prefetch_at > 0) {
		connection->prefetch_at -= surplus;
		return true;
	}
	buffer_clear(&connection->ahead);
	connection->prefetch_at = 0;
	buffer_append(&connection->ahead, input->bytes + whole, surplus);
	if (!connection->ahead.failed && connection_charge_ahead(connection)) return true;
	connection_drop_ahead(connection);
	return false;
}

static void hand_over_whole(struct connection *connection)
{
	if (!put_aside(connection, connection->head.size + connection->body_size)) {
		refuse_body(connection, &(struct reason){.cause = CAUSE_BODIES_MANY});
		return;
	}
	hide_fields(connection);
	hand_over(connection);
}

/* --- the body --- */

static void on_continue_sent(h2o_socket_t *socket, const char *error)
{
	struct connection *connection = socket->on_close.data;
	connection->writing = false;
	if (error) {
		connection->h2o_reads(socket, error);
		return;
	}
	h2o_socket_read_start(socket, on_readable);
	look(connection);
}

static void say_continue(struct connection *connection)
{
	h2o_iovec_t text = {H2O_STRLIT("HTTP/1.1 100 Continue\r\n\r\n")};
	connection->head.expects = false;
	connection->writing = true;
	h2o_socket_read_stop(connection->socket);
	h2o_socket_write(connection->socket, &text, 1, on_continue_sent);
}

/* Phones send little, and no API key. */
static bool is_of_phone(const struct connection *connection)
{
	const struct head *head = &connection->head;
	return !connection->admin &&
	       phone_is_at(span_of(connection->socket->input->bytes + head->path_at, head->path_size));
}

static int64_t body_bytes_max(const struct connection *connection)
{
	if (is_of_phone(connection)) return PHONE_BODY_BYTES_MAX;
	int64_t max = thread_options(connection->thread)->max_body_bytes;
	return max > 0 && max < BODIES_BYTES_MAX / 2 ? max : BODIES_BYTES_MAX / 2;
}

/* The account whose phone sends a body counts it. */
static bool admit_phone(struct connection *connection)
{
	const struct head *head = &connection->head;
	struct account_id  account = {{0}};
	(void)!phone_account_of(span_of(connection->socket->input->bytes + head->path_at, head->path_size),
	                        &account);
	connection->admitted = connection->is_stranger = true;
	connection->slot = account_slot(account);
	return true;
}

/* A body is accepted only from a client that may need one: with a well-formed key, for a path that needs keys. The account is
 * then known. */
static bool is_admitted(struct connection *connection)
{
	const struct head *head = &connection->head;
	const char        *input = connection->socket->input->bytes;
	if (connection->admitted || connection->admin) return true;
	if (is_of_phone(connection)) return admit_phone(connection);
	if (head->authorizations != 1) return false;
	if (!bearer_guards(span_of(input + head->path_at, head->path_size))) return false;
	if (!bearer_read(span_of(input + head->authorization_at, head->authorization_size),
	                 &connection->bearer))
		return false;
	connection->admitted = true;
	connection->is_stranger = !known_keys_have(&connection->thread->service->known_keys,
	                                           connection->bearer.key_hash);
	connection->slot = account_slot(connection->bearer.account);
	return true;
}

static bool is_held(struct connection *connection)
{
	return connection_charge_body(connection, connection->socket->input->capacity);
}

static enum err decode(struct connection *connection)
{
	h2o_buffer_t *input = connection->socket->input;
	uint8_t      *begin = (uint8_t *)input->bytes + connection->head.size + connection->body_size;
	size_t        taken, made, come = input->size - connection->head.size - connection->body_size;
	enum err      err = chunks_decode(&connection->chunks, span_of(begin, come), begin, &taken, &made);
	if (err) return err;
	memmove(begin + made, begin + taken, come - taken);
	input->size -= taken - made;
	connection->body_size += made;
	return OK;
}

/* Checks the body; true: it is complete, and the request was handed over or refused. */
static bool look_at_body(struct connection *connection)
{
	size_t        come = connection->socket->input->size - connection->head.size;
	struct reason beyond = {.cause = CAUSE_BODY_BEYOND, .most = body_bytes_max(connection)};
	if (connection->head.chunked) {
		if (decode(connection)) {
			refuse_body(connection, &connection->chunks.reason);
			return true;
		}
	} else {
		connection->body_size = come < connection->head.length ? come
		                                                       : (size_t)connection->head.length;
	}
	bool whole = connection->head.chunked ? connection->chunks.state == CHUNK_DONE
	                                      : connection->body_size == connection->head.length;
	if ((connection->head.chunked ? connection->body_size : connection->head.length) >
	    (uint64_t)beyond.most)
		refuse_body(connection, &beyond);
	else if (whole)
		hand_over_whole(connection);
	else if (!is_admitted(connection))
		refuse_body(connection, &(struct reason){.cause = CAUSE_BEARER_MISSING});
	else if (!is_held(connection))
		refuse_body(connection, &(struct reason){.cause = CAUSE_BODIES_MANY});
	else
		return false;
	return true;
}

/* --- processing input --- */

static bool feed(struct connection *connection)
{
	size_t size = connection->ahead.size - connection->prefetch_at;
	if (size == 0) {
		buffer_clear(&connection->ahead);
		connection->prefetch_at = 0;
		if (connection->prefetch_charge) connection_drop_ahead(connection);
		return false;
	}
	if (size > FEED_BYTES) size = FEED_BYTES;
	if (!append_input(connection, connection->ahead.at + connection->prefetch_at, size)) return false;
	connection->prefetch_at += size;
	return true;
}

static void begin_body(struct connection *connection)
{
	connection_turn(connection, CONNECTION_BODY);
	pace_begin(&connection->pace, connection->since, 0);
}

/* One step with the received bytes; true: the request was handed over or refused. */
static bool step(struct connection *connection)
{
	h2o_buffer_t *input = connection->socket->input;
	if (input->size == 0) return false;
	if (connection->state == CONNECTION_IDLE) connection_turn(connection, CONNECTION_HEAD);
	if (connection->state == CONNECTION_HEAD) {
		if (guard_take(&connection->head, span_of(input->bytes, input->size))) {
			refuse_head(connection);
			return true;
		}
		if (connection->head.size == 0) return false;
		h2o_buffer_consume(&connection->socket->input,
		                   guard_to_origin(&connection->head, (uint8_t *)input->bytes));
		begin_body(connection);
	}
	return look_at_body(connection);
}

static void look(struct connection *connection)
{
	while (!connection->writing) {
		if (step(connection)) return;
		if (feed(connection)) continue;
		if (connection->state != CONNECTION_BODY || !connection->head.expects ||
		    connection->body_size)
			return;
		say_continue(connection);
	}
}

/* --- reading --- */

/* Reads no more than the current request needs; the rest waits in the kernel. The end of a chunked body is not known in
 * advance. */
static size_t wanted(const struct connection *connection)
{
	if (connection->state != CONNECTION_BODY) return FIRST_READ_BYTES;
	if (connection->head.chunked) return READ_BYTES;
	size_t so_far = connection->socket->input->size;
	size_t size = so_far < READ_BYTES ? READ_BYTES : so_far;
	if (size > BODY_READ_BYTES_MAX) size = BODY_READ_BYTES_MAX;
	uint64_t left = connection->head.length - connection->body_size;
	return left < size ? (size_t)left : size;
}

static const char *read_clear(struct connection *connection)
{
	h2o_socket_t *socket = connection->socket;
	size_t        size = wanted(connection);
	h2o_iovec_t   room = h2o_buffer_reserve(&socket->input, size);
	if (!room.base) return h2o_socket_error_out_of_memory;
	ssize_t got = recv(h2o_socket_get_fd(socket), room.base, size, 0);
	if (got == 0) return h2o_socket_error_closed;
	if (got < 0) return errno == EAGAIN || errno == EINTR ? NULL : h2o_socket_error_io;
	socket->input->size += (size_t)got;
	return NULL;
}

static void on_readable(h2o_socket_t *socket, const char *error)
{
	struct connection *connection = socket->on_close.data;
	if (connection->doomed) error = h2o_socket_error_closed;
	if (!error && !socket->ssl) error = read_clear(connection);
	/* A part of a TLS record, or one without data: it protects the connection no longer, as unread bytes do. */
	if (!error && socket->ssl && !socket->input->size) connection_rank(connection);
	if (error)
		connection->h2o_reads(socket, error);
	else
		look(connection);
}

/* Bytes arrive while the current request is handled. Its head is in the buffer, which must not move. Once it is answered, the
 * next request may arrive early; it is read at once and put aside. */
static void on_early_bytes(h2o_socket_t *socket, const char *error)
{
	struct connection *connection = socket->on_close.data;
	bool               may_read = !error && connection->state == CONNECTION_ANSWERING &&
	                connection->prefetch_at == connection->ahead.size;
	if (may_read) {
		buffer_clear(&connection->ahead);
		connection->prefetch_at = 0;
		uint8_t *room = buffer_reserve(&connection->ahead, READ_BYTES);
		ssize_t  got = room ? recv(h2o_socket_get_fd(socket), room, READ_BYTES, 0) : -1;
		if (got > 0) connection->ahead.size = (size_t)got;
		if (got > 0) return;
	}
	h2o_socket_read_stop(socket);
}

/* --- notifications from the handler --- */

struct span connection_body(const struct connection *connection)
{
	return span_of(connection->socket->input->bytes + connection->head.size, connection->body_size);
}

void connection_hold(struct connection *connection)
{
	if (!connection->socket->ssl) h2o_socket_read_start(connection->socket, on_early_bytes);
}

/* h2o reads for the next request, or is about to: it has set its own callback. */
void connection_start(struct connection *connection)
{
	connection_turn(connection, CONNECTION_IDLE);
	connection->head = (struct head){0};
	connection->chunks = (struct chunks){0};
	connection->body_size = 0;
	connection->admitted = false;
	connection->h2o_reads = connection->socket->_cb.read;
	connection->socket->_cb.read = on_readable;
	if (!connection->socket->ssl) h2o_socket_dont_read(connection->socket, 1);
	if (is_deserted(connection))
		give_up(connection, h2o_socket_error_closed);
	else
		look(connection);
}
