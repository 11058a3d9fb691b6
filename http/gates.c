/* The gates of a thread: how they begin and end, what they hold together, and what takes too long.
 *
 * A gate ends with its socket. A connection that is closed after an answer outlives that: if it were closed with bytes
 * unread, the kernel would send a reset, and the client might never read its answer. So a duplicate of the descriptor
 * is kept, told that no more comes from us, and read until the client is done, for a bounded while.
 *
 * To end a connection that h2o holds there is no call. Shutting the socket down makes its next read or write fail, upon
 * which h2o lets go by itself. */
#include "http/gate.h"
#include "http/peers.h"

#include <fcntl.h>
#include <h2o/http1.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct gate *gate_of_link(h2o_linklist_t *link)
{
	return H2O_STRUCT_FROM_MEMBER(struct gate, all, link);
}

static struct places *places_of(struct gate *gate)
{
	return gate->admin ? &gate->thread->admin_places : &gate->thread->places;
}

/* What a state is worth when places run out. A body or an answer that is slow, the sweep finds. */
static enum place_kind kind_of(const struct gate *gate)
{
	switch (gate->state) {
	case GATE_IDLE: return gate->has_served ? PLACE_IDLE : PLACE_UNFINISHED;
	case GATE_BODY:
	case GATE_WAITING:
	case GATE_ANSWERING: return PLACE_FIRM;
	case GATE_HANDSHAKE:
	case GATE_HEAD:
	case GATE_CLOSING:
	case GATE_LINGERING: break;
	}
	return PLACE_UNFINISHED;
}

void gate_turn(struct gate *gate, enum gate_state state)
{
	gate->state = state;
	gate->since = thread_now(gate->thread);
	place_turn(places_of(gate), &gate->place, kind_of(gate), gate->since);
}

/* --- what all hold together --- */

/* Each thread writes its own sum; whoever is about to add much looks at all of them. */
static uint64_t sum_of(const struct service *service, size_t member)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < service->thread_count; i++) {
		const char *metrics = (const char *)&service->threads[i].metrics;
		sum += atomic_load_explicit((const _Atomic uint64_t *)(metrics + member),
		                            memory_order_relaxed);
	}
	return sum;
}

static void move_sum(_Atomic uint64_t *sum, size_t *charge, size_t to)
{
	uint64_t now = atomic_load_explicit(sum, memory_order_relaxed);
	atomic_store_explicit(sum, now - *charge + to, memory_order_relaxed);
	*charge = to;
}

/* Threads share what an account holds. Two accounts of one slot share it too, which is one case in thousands. */
static void move_body(struct gate *gate, size_t to)
{
	_Atomic uint64_t *held = &gate->thread->service->body_bytes[gate->slot];
	uint64_t          difference = (uint64_t)to - gate->body_charge; /* or, modulo 2^64, less */
	if (gate->admitted) atomic_fetch_add_explicit(held, difference, memory_order_relaxed);
	move_sum(&gate->thread->metrics.body_bytes, &gate->body_charge, to);
}

static bool bodies_fit(const struct gate *gate)
{
	struct service *service = gate->thread->service;
	uint64_t        held = atomic_load_explicit(&service->body_bytes[gate->slot], memory_order_relaxed);
	bool            alone = !gate->admitted || held <= gate->body_charge;
	if (!alone && held > BODIES_ACCOUNT_BYTES_MAX) return false;
	return sum_of(service, offsetof(struct metrics, body_bytes)) <= BODIES_BYTES_MAX;
}

bool gate_charge_body(struct gate *gate, size_t bytes)
{
	size_t before = gate->body_charge;
	move_body(gate, bytes);
	if (bodies_fit(gate)) return true;
	move_body(gate, before);
	return false;
}

bool gate_charge_ahead(struct gate *gate)
{
	struct http_thread *thread = gate->thread;
	size_t              before = gate->ahead_charge, size = gate->ahead.capacity;
	if (size <= AHEAD_SMALL_BYTES) size = 0;
	if (size == before) return true;
	move_sum(&thread->metrics.body_bytes, &gate->ahead_charge, size);
	if (size < before ||
	    sum_of(thread->service, offsetof(struct metrics, body_bytes)) <= BODIES_BYTES_MAX)
		return true;
	move_sum(&thread->metrics.body_bytes, &gate->ahead_charge, before);
	return false;
}

void gate_drop_ahead(struct gate *gate)
{
	buffer_free(&gate->ahead);
	gate->ahead_at = 0;
	must(gate_charge_ahead(gate));
}

enum err gate_charge_answer(struct gate *gate, size_t size)
{
	struct http_thread *thread = gate->thread;
	size_t              to = gate->answer_charge + size;
	if (to > ANSWER_SMALL_BYTES) {
		uint64_t sum = sum_of(thread->service, offsetof(struct metrics, answer_bytes));
		if (sum + size > ANSWERS_BYTES_MAX) return ERR_OVERLOADED;
	}
	move_sum(&thread->metrics.answer_bytes, &gate->answer_charge, to);
	return OK;
}

void gate_answering(struct gate *gate, size_t size, bool persistent)
{
	if (!persistent) gate_linger(gate);
	gate_turn(gate, GATE_ANSWERING);
	gate->pace = (struct pace){.last = 0}; /* begun when somebody looks: most answers are gone by then */
	move_sum(&gate->thread->metrics.answer_bytes, &gate->answer_charge, size);
}

static void uncharge(struct gate *gate)
{
	if (gate->body_charge) move_body(gate, 0);
	if (gate->answer_charge) move_sum(&gate->thread->metrics.answer_bytes, &gate->answer_charge, 0);
}

/* --- begin --- */

static void on_close(void *gate)
{
	gate_end(gate);
}

static void begin_http(struct gate *gate)
{
	struct http_thread *thread = gate->thread;
	h2o_accept_ctx_t   *accept = gate->admin ? &thread->accept_admin : &thread->accept_public;
	h2o_buffer_t      **input = &gate->socket->input;
	/* Bytes that came with the end of the handshake are not for h2o to parse yet. */
	buffer_append(&gate->ahead, (*input)->bytes, (*input)->size);
	h2o_buffer_consume(input, (*input)->size);
	if (gate->ahead.failed || !gate_charge_ahead(gate)) {
		h2o_socket_close(gate->socket);
		return;
	}
	h2o_http1_accept(accept, gate->socket, *h2o_get_timestamp(accept->ctx, NULL, NULL));
	gate_start(gate);
}

static void on_handshake(h2o_socket_t *socket, const char *error)
{
	if (error)
		h2o_socket_close(socket);
	else
		begin_http(socket->on_close.data);
}

/* With no word at all: whoever goes on like this is to cost us nothing, not even the memory of a closed connection. */
static void reset(h2o_socket_t *socket)
{
	static const struct linger none = {.l_onoff = 1};
	setsockopt(h2o_socket_get_fd(socket), SOL_SOCKET, SO_LINGER, &none, sizeof none);
	h2o_socket_close(socket);
}

static bool is_let_in(struct gate *gate)
{
	struct peers           *peers = gate->thread->service->peers;
	struct sockaddr_storage from;
	struct sockaddr        *address = (struct sockaddr *)&from;
	if (!peers || gate->admin) return true;
	if (!h2o_socket_getpeername(gate->socket, address)) return true; /* gone already */
	gate->is_counted = peer_of(address, &gate->peer);
	if (!gate->is_counted || peers_enter(peers, &gate->peer)) return true;
	return gate->is_counted = false;
}

void gate_open(struct http_thread *thread, h2o_socket_t *socket, bool admin)
{
	struct gate *gate = calloc(1, sizeof *gate);
	SSL_CTX     *tls = admin ? NULL : thread->live->tls;
	if (!gate) {
		h2o_socket_close(socket);
		return;
	}
	*gate = (struct gate){.thread = thread, .socket = socket, .admin = admin, .linger_fd = -1};
	if (!is_let_in(gate)) {
		metrics_refused(&thread->metrics);
		reset(socket);
		free(gate);
		return;
	}
	gate->since = thread_now(thread);
	place_take(places_of(gate), &gate->place, kind_of(gate), gate->since);
	h2o_linklist_insert(&thread->gates, &gate->all);
	socket->on_close.cb = on_close;
	socket->on_close.data = gate;
	if (tls)
		h2o_socket_ssl_handshake(socket, tls, NULL, on_handshake);
	else
		begin_http(gate);
}

/* --- end --- */

static void free_gate(struct gate *gate)
{
	h2o_linklist_unlink(&gate->all);
	if (h2o_linklist_is_linked(&gate->ready)) h2o_linklist_unlink(&gate->ready);
	uncharge(gate);
	if (gate->gone) *gate->gone = true;
	if (gate->linger_fd >= 0) close(gate->linger_fd);
	gate_drop_ahead(gate);
	place_free(places_of(gate), &gate->place);
	if (gate->is_counted) peers_leave(gate->thread->service->peers, &gate->peer);
	free(gate);
}

static void on_late_bytes(h2o_socket_t *socket, const char *error)
{
	struct gate *gate = socket->on_close.data;
	char         waste[65536];
	ssize_t      got = error ? 0 : recv(h2o_socket_get_fd(socket), waste, sizeof waste, 0);
	gate->lingered += got > 0 ? (size_t)got : 0;
	if (got <= 0 || gate->lingered > LINGER_BYTES) h2o_socket_close(socket);
}

void gate_linger(struct gate *gate)
{
	if (gate->linger_fd < 0) gate->linger_fd = fcntl(h2o_socket_get_fd(gate->socket), F_DUPFD_CLOEXEC, 0);
}

void gate_end(struct gate *gate)
{
	int  fd = gate->linger_fd;
	bool lingers = fd >= 0 && gate->state == GATE_CLOSING && !gate->doomed && !shutdown(fd, SHUT_WR);
	if (!lingers) {
		free_gate(gate);
		return;
	}
	uncharge(gate);
	gate_drop_ahead(gate);
	gate->linger_fd = -1; /* the new socket's */
	gate_turn(gate, GATE_LINGERING);
	gate->socket = h2o_evloop_socket_create(gate->thread->context.loop, fd, H2O_SOCKET_FLAG_DONT_READ);
	gate->socket->on_close.cb = on_close;
	gate->socket->on_close.data = gate;
	h2o_socket_read_start(gate->socket, on_late_bytes);
}

void gate_done(struct gate *gate, bool persistent)
{
	uncharge(gate);
	if (gate->doomed) persistent = false;
	gate->has_served = true;
	gate_turn(gate, persistent ? GATE_IDLE : GATE_CLOSING);
	if (persistent && !h2o_linklist_is_linked(&gate->ready))
		h2o_linklist_insert(&gate->thread->ready, &gate->ready);
}

void gate_doom(struct gate *gate)
{
	gate->doomed = true;
	gate_drop_ahead(gate);
}

void gates_free(struct http_thread *thread)
{
	while (!h2o_linklist_is_empty(&thread->gates)) {
		struct gate *gate = gate_of_link(thread->gates.next);
		gate->socket->on_close.cb = NULL;
		if (gate->state == GATE_LINGERING)
			h2o_socket_close(gate->socket); /* nobody else knows of it */
		free_gate(gate);
	}
}

/* --- once a turn --- */

bool gates_feed(struct http_thread *thread)
{
	bool fed = false;
	/* A gate that is fed may be answered at once, but comes back here only by way of the loop. */
	while (!h2o_linklist_is_empty(&thread->ready)) {
		struct gate *gate = H2O_STRUCT_FROM_MEMBER(struct gate, ready, thread->ready.next);
		h2o_linklist_unlink(&gate->ready);
		fed |= gate->ahead_at < gate->ahead.size;
		gate_start(gate);
	}
	return fed;
}

bool gates_receive(const struct http_thread *thread)
{
	for (h2o_linklist_t *link = thread->gates.next; link != &thread->gates; link = link->next)
		if (gate_of_link(link)->state == GATE_BODY) return true;
	return false;
}

/* --- now and then --- */

static bool is_stalled(struct gate *gate, mono_us now)
{
	uint64_t moved = pace_acknowledged(h2o_socket_get_fd(gate->socket));
	uint64_t held = sum_of(gate->thread->service, offsetof(struct metrics, answer_bytes));
	bool     stopping = atomic_load_explicit(&gate->thread->service->stopping, memory_order_relaxed);
	bool     pressed = stopping || pace_presses(held, gate->answer_charge);
	if (gate->pace.since.v == 0) pace_begin(&gate->pace, now, moved);
	return !pace_holds_pressed(&gate->pace, now, moved, pressed);
}

static bool is_late(struct gate *gate, mono_us now)
{
	int64_t waited_ms = mono_since(now, gate->since).v / US_PER_MS;
	switch (gate->state) {
	case GATE_HANDSHAKE: return waited_ms > HANDSHAKE_MS;
	case GATE_IDLE: return waited_ms > thread_options(gate->thread)->keep_alive.v / US_PER_MS;
	case GATE_HEAD: return waited_ms > HEAD_READ_MS;
	case GATE_BODY: return waited_ms > BODY_READ_MS || !pace_holds(&gate->pace, now, gate->body_size);
	case GATE_WAITING: return false; /* the call has a deadline of its own */
	case GATE_ANSWERING: return is_stalled(gate, now);
	case GATE_CLOSING:
	case GATE_LINGERING: break;
	}
	return waited_ms > LINGER_MS;
}

/* Told to leave. A connection that h2o holds goes when h2o sees that, within a turn or two. */
static void dismiss(struct gate *gate)
{
	gate_doom(gate);
	place_leave(places_of(gate), &gate->place);
	if (gate->state == GATE_LINGERING)
		h2o_socket_close(gate->socket);
	else
		shutdown(h2o_socket_get_fd(gate->socket), SHUT_RDWR);
}

static void judge_pace(struct gate *gate, mono_us now)
{
	if (gate->state != GATE_BODY && gate->state != GATE_ANSWERING) return;
	bool slow = pace_is_slow(&gate->pace, now);
	place_turn(places_of(gate), &gate->place, slow ? PLACE_SLOW : PLACE_FIRM, now);
}

void gates_sweep(struct http_thread *thread, mono_us now)
{
	enum { SWEEP_MS = 250 };
	if (mono_since(now, thread->swept).v < SWEEP_MS * US_PER_MS) return;
	thread->swept = now;
	h2o_linklist_t *next;
	for (h2o_linklist_t *link = thread->gates.next; link != &thread->gates; link = next) {
		struct gate *gate = gate_of_link(link);
		next = link->next;
		if (is_late(gate, now)) {
			metrics_closed(&thread->metrics, gate->state);
			dismiss(gate);
		} else {
			judge_pace(gate, now);
		}
	}
}

/* --- when places run out --- */

/* A request that has come and is not read yet is under way all the same. */
static bool has_bytes(const struct gate *gate)
{
	int bytes = 0;
	return ioctl(h2o_socket_get_fd(gate->socket), FIONREAD, &bytes) == 0 && bytes > 0;
}

struct gate *gates_first(struct http_thread *thread, bool admin)
{
	struct places *places = admin ? &thread->admin_places : &thread->places;
	mono_us        now = thread_now(thread);
	struct place  *place;
	while ((place = places_first(places, now))) {
		struct gate *gate = H2O_STRUCT_FROM_MEMBER(struct gate, place, place);
		if (gate->state != GATE_IDLE || !has_bytes(gate)) return gate;
		place_turn(places, place, PLACE_FIRM, now); /* until it is read, this turn or the next */
	}
	return NULL;
}

void gate_evict(struct gate *gate)
{
	bool is_silent = gate->state == GATE_IDLE && !gate->has_served;
	metrics_evicted(&gate->thread->metrics, is_silent ? GATE_HEAD : gate->state);
	dismiss(gate);
}
