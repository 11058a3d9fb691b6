/* What a connection holds of shared resources: a place on its listener, and memory for bodies, early requests and answers.
 * Each thread keeps its own sums. Before a thread adds much, it adds up the sums of all threads. */
#include "http/connection.h"

struct connection_table *connection_table_of(struct connection *connection)
{
	return connection->admin ? &connection->thread->admin_table : &connection->thread->table;
}

/* Which kind a state is when places run out. The sweep finds slow bodies and answers. */
static enum entry_kind kind_of(const struct connection *connection)
{
	switch (connection->state) {
	case CONNECTION_IDLE: return connection->has_served ? ENTRY_IDLE : ENTRY_UNFINISHED;
	case CONNECTION_BODY:
	case CONNECTION_WAITING:
	case CONNECTION_ANSWERING: return ENTRY_FIRM;
	case CONNECTION_HANDSHAKE:
	case CONNECTION_HEAD:
	case CONNECTION_CLOSING:
	case CONNECTION_LINGERING: break;
	}
	return ENTRY_UNFINISHED;
}

void connection_rank(struct connection *connection)
{
	entry_change(connection_table_of(connection), &connection->entry, kind_of(connection),
	             thread_now(connection->thread));
}

void connection_turn(struct connection *connection, enum connection_state state)
{
	connection->state = state;
	connection->since = thread_now(connection->thread);
	connection_rank(connection);
}

/* --- shared memory --- */

/* The sum over all threads, each of which writes its own. */
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

/* The bytes held by an account, over all threads. Two accounts of one slot share a limit, about one pair in thousands. */
static void move_body(struct connection *connection, size_t to)
{
	struct service *service = connection->thread->service;
	uint64_t difference = (uint64_t)to - connection->body_charge; /* negative modulo 2^64 if less */
	if (connection->admitted)
		atomic_fetch_add_explicit(&service->body_bytes[connection->slot], difference,
		                          memory_order_relaxed);
	if (connection->admitted && connection->is_stranger)
		atomic_fetch_add_explicit(&service->stranger_bytes, difference, memory_order_relaxed);
	move_sum(&connection->thread->metrics.body_bytes, &connection->body_charge, to);
}

/* Does a sum fit that the connection's body is a part of? It may be larger alone. */
static bool fits(const struct connection *connection, const _Atomic uint64_t *sum, uint64_t most)
{
	uint64_t held = atomic_load_explicit(sum, memory_order_relaxed);
	return held <= most || held <= connection->body_charge;
}

static bool bodies_fit(const struct connection *connection)
{
	struct service *service = connection->thread->service;
	if (connection->admitted &&
	    !fits(connection, &service->body_bytes[connection->slot], BODIES_ACCOUNT_BYTES_MAX))
		return false;
	if (connection->admitted && connection->is_stranger &&
	    !fits(connection, &service->stranger_bytes, BODIES_STRANGERS_BYTES_MAX))
		return false;
	return sum_of(service, offsetof(struct metrics, body_bytes)) <= BODIES_BYTES_MAX;
}

/* Strangers' small bodies have a limit too: they need no key that is valid, only connections. */
static bool is_accepted_anyway(const struct connection *connection)
{
	struct service *service = connection->thread->service;
	if (connection->body_size > BODY_SMALL_BYTES) return false;
	return !connection->is_stranger || fits(connection, &service->stranger_bytes,
	                                        BODIES_STRANGERS_BYTES_MAX + BODIES_SMALL_BYTES_MAX);
}

bool connection_charge_body(struct connection *connection, size_t bytes)
{
	size_t before = connection->body_charge;
	move_body(connection, bytes);
	if (bodies_fit(connection) || is_accepted_anyway(connection)) return true;
	move_body(connection, before);
	return false;
}

bool connection_charge_ahead(struct connection *connection)
{
	struct http_thread *thread = connection->thread;
	size_t              before = connection->prefetch_charge, size = connection->ahead.capacity;
	if (size <= AHEAD_SMALL_BYTES) size = 0;
	if (size == before) return true;
	move_sum(&thread->metrics.body_bytes, &connection->prefetch_charge, size);
	if (size < before ||
	    sum_of(thread->service, offsetof(struct metrics, body_bytes)) <= BODIES_BYTES_MAX)
		return true;
	move_sum(&thread->metrics.body_bytes, &connection->prefetch_charge, before);
	return false;
}

void connection_drop_ahead(struct connection *connection)
{
	buffer_free(&connection->ahead);
	connection->prefetch_at = 0;
	must(connection_charge_ahead(connection));
}

/* Over TLS h2o encrypts a whole answer at once, and keeps the plain bytes beside it. */
static size_t memory_of(const struct connection *connection, size_t size)
{
	return connection->tls ? 2 * size : size;
}

enum err connection_charge_answer(struct connection *connection, size_t size)
{
	struct http_thread *thread = connection->thread;
	size_t              more = memory_of(connection, size), to = connection->answer_charge + more;
	if (to > ANSWER_SMALL_BYTES) {
		uint64_t sum = sum_of(thread->service, offsetof(struct metrics, answer_bytes));
		if (sum + more > ANSWERS_BYTES_MAX) return ERR_OVERLOADED;
	}
	move_sum(&thread->metrics.answer_bytes, &connection->answer_charge, to);
	return OK;
}

uint64_t answers_held(const struct service *service)
{
	return sum_of(service, offsetof(struct metrics, answer_bytes));
}

uint64_t bodies_held(const struct service *service)
{
	return sum_of(service, offsetof(struct metrics, body_bytes));
}

void connection_count_answer(struct connection *connection, size_t size)
{
	move_sum(&connection->thread->metrics.answer_bytes, &connection->answer_charge,
	         memory_of(connection, size));
}

void connection_count_more(struct connection *connection, size_t size)
{
	move_sum(&connection->thread->metrics.answer_bytes, &connection->answer_charge,
	         connection->answer_charge + memory_of(connection, size));
}

void connection_uncharge(struct connection *connection)
{
	if (connection->body_charge) move_body(connection, 0);
	if (connection->answer_charge)
		move_sum(&connection->thread->metrics.answer_bytes, &connection->answer_charge, 0);
}

void connection_doom(struct connection *connection)
{
	connection->doomed = true;
	connection_drop_ahead(connection);
}
