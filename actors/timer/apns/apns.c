/* The turn of pushes to Apple's wallet, and what all lines share. */
#include "actors/timer/apns/apns_inside.h"

#include "schemas/limits.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_MAX = 128, LINES_KEPT = 256, LINES_MOST = 4096, LINE_KEPT_S = 30 * 60, LINES_A_TURN = 128 };

/* The turn ------------------------------------------------------------------------------------------------- */

static bool take_events(struct apns *apns)
{
	struct epoll_event events[EVENTS_MAX];
	int                count = epoll_wait(apns->epoll_fd, events, EVENTS_MAX, 0);
	for (int i = 0; i < count; i++) {
		uint64_t data = events[i].data.u64;
		if (data & SOURCE_EVENT) {
			struct source *source = (struct source *)(uintptr_t)(data & ~SOURCE_EVENT);
			source->on_event(source, events[i].events);
		} else {
			resolver_event(apns->resolver, data, events[i].events);
		}
	}
	return count == EVENTS_MAX;
}

static void end_late_pushes(struct apns *apns)
{
	struct apns_push *push;
	char              reason[PUSH_REASON_TEXT];
	while ((push = TAILQ_FIRST(&apns->ages)) && push->due.v <= apns->now.v) {
		struct connection *connection = push->connection;
		snprintf(reason, sizeof reason, "no answer from %.60s:%u%s", apns->host, apns->options.port,
		         connection ? "" : ": allow outgoing TCP to it");
		if (connection) session_cancel(push);
		/* A server that has answered no push since is gone, or is none, whatever else it sends. */
		if (connection && mono_since(apns->now, connection->answered).v >= APNS_PUSH_MS * US_PER_MS)
			connection_fail(connection, reason);
		push_end(push, APNS_AGAIN, reason);
	}
}

static void turn_diallings(struct apns *apns)
{
	struct dialling *next;
	for (struct dialling *dialling = TAILQ_FIRST(&apns->diallings); dialling; dialling = next) {
		next = TAILQ_NEXT(dialling, link);
		dialling_turn(dialling);
	}
}

static void serve_lines(struct apns *apns)
{
	struct apns_line *next;
	for (struct apns_line *line = TAILQ_FIRST(&apns->waiting); line; line = next) {
		next = TAILQ_NEXT(line, in_waiting);
		line_serve(line);
	}
}

static void turn_connections(struct apns *apns, void (*turn)(struct connection *connection))
{
	struct connection *next;
	for (struct connection *connection = TAILQ_FIRST(&apns->connections); connection; connection = next) {
		next = TAILQ_NEXT(connection, of_all);
		turn(connection);
	}
}

static void free_dead(struct apns *apns)
{
	struct dialling   *dialling;
	struct connection *connection;
	while ((dialling = TAILQ_FIRST(&apns->dead_diallings))) {
		TAILQ_REMOVE(&apns->dead_diallings, dialling, link);
		free(dialling);
	}
	while ((connection = TAILQ_FIRST(&apns->dead_connections))) {
		TAILQ_REMOVE(&apns->dead_connections, connection, of_all);
		connection_free(connection);
	}
}

/* Frees lines without pushes and connections: the oldest if there are many, and old ones. */
static void forget_lines(struct apns *apns)
{
	struct apns_line *next, *line = TAILQ_FIRST(&apns->lines);
	for (unsigned i = 0; line && i < LINES_A_TURN; line = next, i++) {
		next = TAILQ_NEXT(line, by_use);
		bool is_old = mono_since(apns->now, line->used).v >= LINE_KEPT_S * US_PER_SEC;
		bool waits = apns->now.v < line->dial_at.v && apns->line_count <= LINES_MOST;
		if (line_is_idle(line) && !waits && (is_old || apns->line_count > LINES_KEPT))
			line_free(line);
	}
}

static dur_us sleep_of(const struct apns *apns, bool more)
{
	mono_us                  due = mono_after(apns->now, (dur_us){US_PER_SEC});
	const struct dialling   *dialling;
	const struct connection *connection;
	const struct apns_push  *oldest = TAILQ_FIRST(&apns->ages);
	if (more || apns->has_news) return (dur_us){0};
	TAILQ_FOREACH(connection, &apns->connections, of_all)
	if (connection->is_ready) return (dur_us){0};
	TAILQ_FOREACH(dialling, &apns->diallings, link)
	if (dialling_due(dialling).v < due.v) due = dialling_due(dialling);
	if (oldest && oldest->due.v < due.v) due = oldest->due;
	dur_us wait = mono_since(due, apns->now);
	if (resolver_is_busy(apns->resolver) && wait.v > RESOLVER_TURN_MS * US_PER_MS)
		wait.v = RESOLVER_TURN_MS * US_PER_MS;
	return wait.v > 0 ? wait : (dur_us){0};
}

dur_us apns_turn(struct apns *apns, mono_us now)
{
	apns->now = now;
	apns->has_news = false;
	bool more = take_events(apns);
	resolver_turn(apns->resolver);
	turn_diallings(apns);
	turn_connections(apns, connection_read);
	end_late_pushes(apns);
	serve_lines(apns);
	turn_connections(apns, connection_write);
	free_dead(apns);
	forget_lines(apns);
	return sleep_of(apns, more);
}

int apns_fd(const struct apns *apns)
{
	return apns->epoll_fd;
}

bool apns_has_news(const struct apns *apns)
{
	return apns->has_news;
}

unsigned apns_connections(const struct apns *apns)
{
	return apns->connection_count;
}

/* Open and close ------------------------------------------------------------------------------------------- */

static SSL_CTX *make_tls(void)
{
	SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
	if (!tls) return NULL;
	SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
	SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
	                          SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
	return tls;
}

static void name_host(struct apns *apns, const struct apns_options *options)
{
	snprintf(apns->host, sizeof apns->host, "%s", options->host);
	apns->is_address = address_read_v4(apns->host, &apns->address[0]) ||
	                   address_read_v6(apns->host, &apns->address[0]);
	apns->address_count = apns->is_address;
	bool is_v6 = strchr(apns->host, ':');
	int  size = snprintf(apns->authority, sizeof apns->authority, "%s%s%s", is_v6 ? "[" : "", apns->host,
                            is_v6 ? "]" : "");
	if (options->port != 443)
		snprintf(apns->authority + size, sizeof apns->authority - (size_t)size, ":%u", options->port);
}

enum err apns_open(struct apns **out, const struct apns_options *options)
{
	enum err     err = ERR_NO_MEMORY;
	struct apns *apns = *out = calloc(1, sizeof *apns);
	if (!apns) return ERR_NO_MEMORY;
	apns->options = *options;
	name_host(apns, options);
	TAILQ_INIT(&apns->lines);
	TAILQ_INIT(&apns->waiting);
	TAILQ_INIT(&apns->connections);
	TAILQ_INIT(&apns->dead_connections);
	TAILQ_INIT(&apns->diallings);
	TAILQ_INIT(&apns->dead_diallings);
	TAILQ_INIT(&apns->ages);
	if ((apns->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) err = ERR_IO;
	if (apns->epoll_fd >= 0) err = resolver_open(&apns->resolver, apns->epoll_fd, &options->resolver);
	if (!err) err = provider_tokens_open(&apns->tokens);
	if (!err && !(apns->tls = make_tls())) err = ERR_NO_MEMORY;
	if (err) apns_close(out);
	return err;
}

/* Ends pushes without saying so. */
static void drop_pushes(struct apns *apns)
{
	struct apns_line  *line;
	struct connection *connection;
	TAILQ_FOREACH(line, &apns->lines, by_use)
	{
		TAILQ_INIT(&line->waiting);
		line->waiting_count = 0;
	}
	TAILQ_FOREACH(connection, &apns->connections, of_all)
	TAILQ_INIT(&connection->open);
}

void apns_close(struct apns **apns_p)
{
	struct apns *apns = *apns_p;
	*apns_p = NULL;
	if (!apns) return;
	drop_pushes(apns);
	while (!TAILQ_EMPTY(&apns->diallings))
		dialling_end(TAILQ_FIRST(&apns->diallings));
	while (!TAILQ_EMPTY(&apns->connections))
		connection_end(TAILQ_FIRST(&apns->connections));
	free_dead(apns);
	while (!TAILQ_EMPTY(&apns->lines))
		line_free(TAILQ_FIRST(&apns->lines));
	resolver_close(&apns->resolver);
	provider_tokens_close(&apns->tokens);
	SSL_CTX_free(apns->tls);
	if (apns->epoll_fd >= 0) close(apns->epoll_fd);
	ERR_clear_error();
	free(apns);
}
