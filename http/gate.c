/* A connection's requests, from the first byte to where h2o takes over.
 *
 * h2o's parser cannot be made strict, answers in plain text what it refuses, reads a body without end before anybody is
 * asked, and offers no hook before all that. But a socket calls whatever read callback is set: here it is ours. The
 * bytes are gathered in the socket's own buffer, where h2o expects them, and its callback is called when a request is
 * whole. Of a head that must not be parsed h2o sees a harmless one in its place, so that every refusal takes the way of
 * every answer.
 *
 * Connections in clear are read by us, as much as the request at hand wants; h2o has the order not to touch them. With
 * TLS only h2o can read; what comes too early is put aside.
 *
 * While a shard is asked, reading is not stopped but answered by a callback that does nothing: taking the connection
 * out of epoll and putting it back would be two system calls a request, a seventh of this process' time. A client that
 * does send meanwhile is dropped from epoll then.
 *
 * When an answer cannot be sent, h2o would go on with the next request all the same. So the end of its writing comes
 * through here too: once the client is gone, nothing that it had sent before is begun any more. */
#include "http/gate.h"
#include "http/bearer.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum {
	FIRST_READ_BYTES = 2 *
	                   H2O_SOCKET_INITIAL_INPUT_BUFFER_SIZE, /* as large as the buffers that h2o keeps */
	READ_BYTES = 16384,
	FEED_BYTES = 4096,
	BODY_READ_BYTES_MAX = 1 << 20,
};

static const char standing_in[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
static const char standing_in_head[] = "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n";

static void look(struct gate *gate);
static void on_readable(h2o_socket_t *socket, const char *error);

/* --- giving up --- */

/* h2o closes the connection upon an error of reading, whatever it was about to do. The gate may be gone then. */
static void give_up(struct gate *gate, const char *error)
{
	gate_doom(gate);
	gate->h2o_reads(gate->socket, error);
}

static void on_sent(h2o_socket_t *socket, const char *error)
{
	struct gate *gate = socket->on_close.data;
	if (error || gate->doomed)
		give_up(gate, h2o_socket_error_closed);
	else
		gate->h2o_wrote(socket, NULL);
}

void gate_sending(struct gate *gate)
{
	gate->h2o_wrote = gate->socket->_cb.write;
	gate->socket->_cb.write = on_sent;
}

/* Has the client left requests behind and gone? Asked only when one of the pile has been answered already, which says
 * nothing about a client that was merely quick with its next one, and costs that one nothing. */
static bool is_deserted(struct gate *gate)
{
	struct tcp_info info = {0};
	socklen_t       size = sizeof info;
	if (gate->ahead_at == 0 || gate->ahead_at == gate->ahead.size) return false;
	if (getsockopt(h2o_socket_get_fd(gate->socket), IPPROTO_TCP, TCP_INFO, &info, &size)) return true;
	return info.tcpi_state == TCP_CLOSE;
}

/* --- handing over --- */

/* h2o takes the request that lies in the buffer. false: the connection, and with it the gate, is gone. */
static bool hand_over(struct gate *gate)
{
	bool gone = false;
	gate->gone = &gone;
	gate_turn(gate, GATE_WAITING);
	gate->h2o_reads(gate->socket, NULL);
	if (gone) return false;
	gate->gone = NULL;
	/* h2o does not know of the body: to it, this would be the next request. */
	gate->socket->input->size = gate->head.size;
	return true;
}

static bool append_input(struct gate *gate, const void *bytes, size_t size)
{
	h2o_iovec_t room = h2o_buffer_reserve(&gate->socket->input, size);
	if (!room.base) return false;
	memcpy(room.base, bytes, size);
	gate->socket->input->size += size;
	return true;
}

/* Says why, for the request's handler, which h2o calls within hand_over(): a name in the reason lies in the input. */
static void refuse(struct gate *gate, const struct reason *reason)
{
	gate->refusal = refusal_of(&gate->thread->refusal, reason);
	gate->thread->refusal.field = span_of(NULL, 0);
}

/* h2o must not see this head. */
static void refuse_head(struct gate *gate)
{
	h2o_socket_t *socket = gate->socket;
	bool          is_head = socket->input->size >= 5 && memcmp(socket->input->bytes, "HEAD ", 5) == 0;
	const char   *instead = is_head ? standing_in_head : standing_in;
	refuse(gate, &gate->head.reason);
	h2o_buffer_consume(&socket->input, socket->input->size);
	gate->head = (struct head){.size = strlen(instead)};
	gate->body_size = 0;
	if (append_input(gate, instead, gate->head.size))
		hand_over(gate);
	else
		gate->h2o_reads(socket, h2o_socket_error_out_of_memory);
}

/* A name that begins with x means nothing to h2o. */
static void hide_fields(struct gate *gate)
{
	for (unsigned i = 0; i < gate->head.hidden_count; i++)
		gate->socket->input->bytes[gate->head.hidden[i]] = 'x';
}

/* The head is in order and goes on, without its body: the answer has the caller's request id, and what is wrong with the
 * body is told after what comes before that (no key, no such route). */
static void refuse_body(struct gate *gate, const struct reason *reason)
{
	refuse(gate, reason);
	gate->body_size = 0;
	gate->socket->input->size = gate->head.size;
	hide_fields(gate);
	hand_over(gate);
}

/* What lies behind the request at hand: back to where it was fed from, or aside. */
static bool put_aside(struct gate *gate, size_t whole)
{
	h2o_buffer_t *input = gate->socket->input;
	size_t        surplus = input->size - whole;
	input->size = whole;
	if (gate->ahead_at >= surplus && gate->ahead_at > 0) {
		gate->ahead_at -= surplus;
		return true;
	}
	buffer_clear(&gate->ahead);
	gate->ahead_at = 0;
	buffer_append(&gate->ahead, input->bytes + whole, surplus);
	if (!gate->ahead.failed && gate_charge_ahead(gate)) return true;
	gate_drop_ahead(gate);
	return false;
}

static void hand_over_whole(struct gate *gate)
{
	if (!put_aside(gate, gate->head.size + gate->body_size)) {
		refuse_body(gate, &(struct reason){.cause = CAUSE_BODIES_MANY});
		return;
	}
	hide_fields(gate);
	hand_over(gate);
}

/* --- the body --- */

static void on_continue_sent(h2o_socket_t *socket, const char *error)
{
	struct gate *gate = socket->on_close.data;
	gate->writing = false;
	if (error) {
		gate->h2o_reads(socket, error);
		return;
	}
	h2o_socket_read_start(socket, on_readable);
	look(gate);
}

static void say_continue(struct gate *gate)
{
	h2o_iovec_t text = {H2O_STRLIT("HTTP/1.1 100 Continue\r\n\r\n")};
	gate->head.expects = false;
	gate->writing = true;
	h2o_socket_read_stop(gate->socket);
	h2o_socket_write(gate->socket, &text, 1, on_continue_sent);
}

static int64_t body_bytes_max(const struct gate *gate)
{
	int64_t max = thread_options(gate->thread)->max_body_bytes;
	return max > 0 && max < BODIES_BYTES_MAX / 2 ? max : BODIES_BYTES_MAX / 2;
}

/* A body that is still to come is only for those who may need one: with a key, of the form at least, for a path where
 * keys are asked for. The account is known then. */
static bool is_admitted(struct gate *gate)
{
	const struct head *head = &gate->head;
	const char        *input = gate->socket->input->bytes;
	if (gate->admitted || gate->admin) return true;
	if (head->authorizations != 1) return false;
	if (!bearer_guards(span_of(input + head->path_at, head->path_size))) return false;
	if (!bearer_read(span_of(input + head->authorization_at, head->authorization_size), &gate->bearer))
		return false;
	gate->admitted = true;
	gate->slot = account_slot(gate->bearer.account);
	return true;
}

/* A small body is taken whatever others hold. */
static bool is_held(struct gate *gate)
{
	return gate_charge_body(gate, gate->socket->input->capacity) || gate->body_size <= BODY_SMALL_BYTES;
}

static enum err decode(struct gate *gate)
{
	h2o_buffer_t *input = gate->socket->input;
	uint8_t      *begin = (uint8_t *)input->bytes + gate->head.size + gate->body_size;
	size_t        taken, made, come = input->size - gate->head.size - gate->body_size;
	enum err      err = chunks_decode(&gate->chunks, span_of(begin, come), begin, &taken, &made);
	if (err) return err;
	memmove(begin + made, begin + taken, come - taken);
	input->size -= taken - made;
	gate->body_size += made;
	return OK;
}

/* How the body stands: true when it is whole. A refusal has been given then, or the request handed over. */
static bool look_at_body(struct gate *gate)
{
	size_t        come = gate->socket->input->size - gate->head.size;
	struct reason beyond = {.cause = CAUSE_BODY_BEYOND, .most = body_bytes_max(gate)};
	if (gate->head.chunked) {
		if (decode(gate)) {
			refuse_body(gate, &gate->chunks.reason);
			return true;
		}
	} else {
		gate->body_size = come < gate->head.length ? come : (size_t)gate->head.length;
	}
	bool whole = gate->head.chunked ? gate->chunks.state == CHUNK_DONE
	                                : gate->body_size == gate->head.length;
	if ((gate->head.chunked ? gate->body_size : gate->head.length) > (uint64_t)beyond.most)
		refuse_body(gate, &beyond);
	else if (whole)
		hand_over_whole(gate);
	else if (!is_admitted(gate))
		refuse_body(gate, &(struct reason){.cause = CAUSE_BEARER_MISSING});
	else if (!is_held(gate))
		refuse_body(gate, &(struct reason){.cause = CAUSE_BODIES_MANY});
	else
		return false;
	return true;
}

/* --- looking at what has come --- */

static bool feed(struct gate *gate)
{
	size_t size = gate->ahead.size - gate->ahead_at;
	if (size == 0) {
		buffer_clear(&gate->ahead);
		gate->ahead_at = 0;
		if (gate->ahead_charge) gate_drop_ahead(gate);
		return false;
	}
	if (size > FEED_BYTES) size = FEED_BYTES;
	if (!append_input(gate, gate->ahead.at + gate->ahead_at, size)) return false;
	gate->ahead_at += size;
	return true;
}

static void begin_body(struct gate *gate)
{
	gate_turn(gate, GATE_BODY);
	pace_begin(&gate->pace, gate->since, 0);
}

/* One step with the bytes at hand; true when the request has left, or been refused. */
static bool step(struct gate *gate)
{
	h2o_buffer_t *input = gate->socket->input;
	if (input->size == 0) return false;
	if (gate->state == GATE_IDLE) gate_turn(gate, GATE_HEAD);
	if (gate->state == GATE_HEAD) {
		if (guard_take(&gate->head, span_of(input->bytes, input->size))) {
			refuse_head(gate);
			return true;
		}
		if (gate->head.size == 0) return false;
		h2o_buffer_consume(&gate->socket->input,
		                   guard_to_origin(&gate->head, (uint8_t *)input->bytes));
		begin_body(gate);
	}
	return look_at_body(gate);
}

static void look(struct gate *gate)
{
	while (!gate->writing) {
		if (step(gate)) return;
		if (feed(gate)) continue;
		if (gate->state != GATE_BODY || !gate->head.expects || gate->body_size) return;
		say_continue(gate);
	}
}

/* --- reading --- */

/* No more than the request at hand wants: what is behind it waits in the kernel. Where a chunked body ends is not
 * known before. */
static size_t wanted(const struct gate *gate)
{
	if (gate->state != GATE_BODY) return FIRST_READ_BYTES;
	if (gate->head.chunked) return READ_BYTES;
	size_t so_far = gate->socket->input->size;
	size_t size = so_far < READ_BYTES ? READ_BYTES : so_far;
	if (size > BODY_READ_BYTES_MAX) size = BODY_READ_BYTES_MAX;
	uint64_t left = gate->head.length - gate->body_size;
	return left < size ? (size_t)left : size;
}

static const char *read_clear(struct gate *gate)
{
	h2o_socket_t *socket = gate->socket;
	size_t        size = wanted(gate);
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
	struct gate *gate = socket->on_close.data;
	if (gate->doomed) error = h2o_socket_error_closed;
	if (!error && !socket->ssl) error = read_clear(gate);
	if (error)
		gate->h2o_reads(socket, error);
	else
		look(gate);
}

/* Something comes while the request at hand is seen to. Its head lies in the buffer, which must not move; but once it
 * is answered the client may be quick with its next one, which is read at once and put aside. */
static void on_early_bytes(h2o_socket_t *socket, const char *error)
{
	struct gate *gate = socket->on_close.data;
	bool         may_read = !error && gate->state == GATE_ANSWERING && gate->ahead_at == gate->ahead.size;
	if (may_read) {
		buffer_clear(&gate->ahead);
		gate->ahead_at = 0;
		uint8_t *room = buffer_reserve(&gate->ahead, READ_BYTES);
		ssize_t  got = room ? recv(h2o_socket_get_fd(socket), room, READ_BYTES, 0) : -1;
		if (got > 0) gate->ahead.size = (size_t)got;
		if (got > 0) return;
	}
	h2o_socket_read_stop(socket);
}

/* --- the course of a request, as its handler tells it --- */

struct span gate_body(const struct gate *gate)
{
	return span_of(gate->socket->input->bytes + gate->head.size, gate->body_size);
}

void gate_hold(struct gate *gate)
{
	if (!gate->socket->ssl) h2o_socket_read_start(gate->socket, on_early_bytes);
}

/* h2o has begun to read for the next request, or is about to: it will have set its own callback. */
void gate_start(struct gate *gate)
{
	gate_turn(gate, GATE_IDLE);
	gate->head = (struct head){0};
	gate->chunks = (struct chunks){0};
	gate->body_size = 0;
	gate->admitted = false;
	gate->h2o_reads = gate->socket->_cb.read;
	gate->socket->_cb.read = on_readable;
	if (!gate->socket->ssl) h2o_socket_dont_read(gate->socket, 1);
	if (is_deserted(gate))
		give_up(gate, h2o_socket_error_closed);
	else
		look(gate);
}
