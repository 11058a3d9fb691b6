/* A connection to APNs: TLS, what travels in it, and its times. */
#include "actors/timer/apns/apns_inside.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
	BEGIN_S = 10,      /* until Apple's SETTINGS */
	SILENT_S = 10,     /* without an answer to a push or a ping */
	PING_AFTER_S = 60, /* of silence */
	IDLE_S = 30 * 60,  /* without a push */
	READ_BYTES = 16384,
	READS_MAX = 16, /* of a turn */
};

static bool has_passed(mono_us now, mono_us since, int64_t seconds)
{
	return mono_since(now, since).v >= seconds * US_PER_SEC;
}

/* Failures ------------------------------------------------------------------------------------------------- */

/* Alerts by which a server refuses a client's certificate, or its having none. */
static bool is_refusal(unsigned long error)
{
	if (ERR_GET_LIB(error) != ERR_LIB_SSL) return false;
	switch (ERR_GET_REASON(error) - SSL_AD_REASON_OFFSET) {
	case SSL3_AD_HANDSHAKE_FAILURE:
	case SSL3_AD_NO_CERTIFICATE:
	case SSL3_AD_BAD_CERTIFICATE:
	case SSL3_AD_UNSUPPORTED_CERTIFICATE:
	case SSL3_AD_CERTIFICATE_REVOKED:
	case SSL3_AD_CERTIFICATE_EXPIRED:
	case SSL3_AD_CERTIFICATE_UNKNOWN:
	case TLS1_AD_UNKNOWN_CA:
	case TLS1_AD_ACCESS_DENIED:
	case TLS1_AD_DECRYPT_ERROR:
	case TLS13_AD_CERTIFICATE_REQUIRED: return true;
	default: return false;
	}
}

static void fail_tls(struct connection *connection)
{
	unsigned long error = ERR_peek_error();
	long          verdict = SSL_get_verify_result(connection->ssl);
	char          reason[PUSH_REASON_TEXT];
	const char   *text = error ? ERR_reason_error_string(error) : NULL;
	if (verdict != X509_V_OK)
		snprintf(reason, sizeof reason, "TLS: the server's certificate: %s",
		         X509_verify_cert_error_string(verdict));
	else
		snprintf(reason, sizeof reason, "TLS: %s", text ? text : "the connection was closed");
	connection->is_refused = is_refusal(error);
	connection_fail(connection, reason);
	ERR_clear_error();
}

/* What a call of OpenSSL wants: false, and it has failed. */
static bool goes_on(struct connection *connection, int result, bool *wants_out)
{
	switch (SSL_get_error(connection->ssl, result)) {
	case SSL_ERROR_WANT_READ: return true;
	case SSL_ERROR_WANT_WRITE: *wants_out = true; return true;
	case SSL_ERROR_ZERO_RETURN: connection_fail(connection, "the connection was closed"); return false;
	default: fail_tls(connection); return false;
	}
}

/* Reading and writing -------------------------------------------------------------------------------------- */

static void shake_hands(struct connection *connection, bool *wants_out)
{
	const unsigned char *protocol = NULL;
	unsigned             size = 0;
	ERR_clear_error();
	int result = SSL_connect(connection->ssl);
	if (result != 1) {
		(void)goes_on(connection, result, wants_out);
		return;
	}
	SSL_get0_alpn_selected(connection->ssl, &protocol, &size);
	if (!span_is(span_of(protocol, size), "h2")) {
		connection_fail(connection, "the server does not speak HTTP/2");
		return;
	}
	connection->state = CONNECTION_GREETS;
	if (session_begin(connection)) connection_fail(connection, "no memory");
}

static void read_all(struct connection *connection, bool *wants_out)
{
	uint8_t bytes[READ_BYTES];
	for (unsigned i = 0; i < READS_MAX; i++) {
		ERR_clear_error();
		int size = SSL_read(connection->ssl, bytes, sizeof bytes);
		if (size <= 0) {
			(void)goes_on(connection, size, wants_out);
			return;
		}
		connection->heard = connection->apns->now;
		connection->pinged.v = 0;
		ssize_t taken = nghttp2_session_mem_recv(connection->session, bytes, (size_t)size);
		if (taken < 0) connection_fail(connection, nghttp2_strerror((int)taken));
		if (connection->reason[0]) return;
	}
	connection->is_ready = true; /* there is more */
}

/* nghttp2 gives one frame at a time. They are gathered, or each would be a TLS record and a system call. */
static void gather(struct connection *connection)
{
	const uint8_t *bytes;
	ssize_t        size;
	while (connection->out_size < OUT_BYTES / 2 &&
	       (size = nghttp2_session_mem_send(connection->session, &bytes)) > 0) {
		if ((size_t)size > OUT_BYTES - connection->out_size) {
			connection_fail(connection, "a frame is too large");
			return;
		}
		memcpy(connection->out + connection->out_size, bytes, (size_t)size);
		connection->out_size += (size_t)size;
	}
}

static void write_all(struct connection *connection, bool *wants_out)
{
	while (!connection->reason[0]) {
		gather(connection);
		if (connection->out_size == 0) return;
		ERR_clear_error();
		int size = SSL_write(connection->ssl, connection->out, (int)connection->out_size);
		if (size <= 0) {
			(void)goes_on(connection, size, wants_out);
			return;
		}
		connection->out_size -= (size_t)size;
		memmove(connection->out, connection->out + size, connection->out_size);
	}
}

static void watch(struct connection *connection, bool wants_out)
{
	struct epoll_event event = {.events = EPOLLIN | (wants_out ? EPOLLOUT : 0U),
	                            .data.u64 = SOURCE_EVENT | (uintptr_t)&connection->source};
	if (wants_out == connection->wants_out) return;
	connection->wants_out = wants_out;
	epoll_ctl(connection->apns->epoll_fd, EPOLL_CTL_MOD, connection->fd, &event);
}

/* Times ---------------------------------------------------------------------------------------------------- */

static void look_at_clock(struct connection *connection)
{
	mono_us now = connection->apns->now;
	if (connection->state != CONNECTION_UP) {
		if (has_passed(now, connection->began, BEGIN_S))
			connection_fail(connection, "no answer to the connection");
	} else if (connection->pinged.v) {
		if (has_passed(now, connection->pinged, SILENT_S))
			connection_fail(connection, "no answer to a ping");
	} else if (has_passed(now, connection->heard, PING_AFTER_S)) {
		nghttp2_submit_ping(connection->session, NGHTTP2_FLAG_NONE, NULL);
		connection->pinged = now;
	}
}

static bool is_over(const struct connection *connection)
{
	if (connection->open_count) return false;
	if (connection->state == CONNECTION_UP && has_passed(connection->apns->now, connection->used, IDLE_S))
		return true;
	return connection->is_draining ||
	       (connection->session && !nghttp2_session_want_read(connection->session) &&
	        !nghttp2_session_want_write(connection->session));
}

void connection_read(struct connection *connection)
{
	bool wants_out = connection->wants_out;
	if (connection->is_ready && !connection->reason[0]) {
		connection->is_ready = wants_out = false;
		if (connection->state == CONNECTION_SHAKES_HANDS) shake_hands(connection, &wants_out);
		if (connection->state != CONNECTION_SHAKES_HANDS) read_all(connection, &wants_out);
	}
	if (!connection->reason[0]) look_at_clock(connection);
	if (!connection->reason[0]) watch(connection, wants_out);
}

/* The session forgets them first: their owner frees them. */
static void end_pushes(struct connection *connection, enum apns_fate fate, const char *reason)
{
	struct apns_push *push;
	TAILQ_FOREACH(push, &connection->open, in_list)
	nghttp2_session_set_stream_user_data(connection->session, push->stream, NULL);
	while ((push = TAILQ_FIRST(&connection->open)))
		push_end(push, fate, reason);
}

/* One that has worked may be made again at once. */
static void end_failed(struct connection *connection)
{
	struct apns_line *line = connection->line;
	bool              is_refused = connection->is_refused, has_worked = connection->answered.v;
	char              reason[sizeof connection->reason];
	memcpy(reason, connection->reason, sizeof reason);
	if (is_refused) end_pushes(connection, APNS_HELD, reason);
	connection_end(connection);
	if (is_refused || !has_worked) line_failed(line, is_refused, reason);
}

void connection_write(struct connection *connection)
{
	bool wants_out = connection->wants_out && connection->state == CONNECTION_SHAKES_HANDS;
	if (connection->state != CONNECTION_SHAKES_HANDS) write_all(connection, &wants_out);
	if (connection->reason[0])
		end_failed(connection);
	else if (is_over(connection))
		connection_end(connection);
	else
		watch(connection, wants_out);
}

unsigned connection_room(const struct connection *connection)
{
	uint32_t most;
	if (connection->state != CONNECTION_UP || connection->is_draining || connection->reason[0]) return 0;
	most = nghttp2_session_get_remote_settings(connection->session,
	                                           NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
	if (most > APNS_STREAMS_MAX) most = APNS_STREAMS_MAX;
	/* Apple allows one until it has seen a good provider token. */
	if (connection->line->p8 && !connection->is_proven && most > 1) most = 1;
	return most > connection->open_count ? most - connection->open_count : 0;
}

/* Begin and end -------------------------------------------------------------------------------------------- */

/* It is read and written later in the same turn. */
static void on_event(struct source *source, uint32_t events)
{
	(void)events;
	((struct connection *)source)->is_ready = true;
}

static bool set_up_tls(struct connection *connection)
{
	const struct apns      *apns = connection->apns;
	const struct apns_line *line = connection->line;
	SSL                    *ssl = connection->ssl = SSL_new(apns->tls);
	if (!ssl || SSL_set_fd(ssl, connection->fd) != 1) return false;
	if (SSL_set1_verify_cert_store(ssl, trust_store(apns->options.trust)) != 1) return false;
	if (SSL_set_alpn_protos(ssl, (const unsigned char *)"\2h2", 3) != 0) return false;
	if (apns->is_address) {
		if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), apns->host) != 1) return false;
	} else if (SSL_set_tlsext_host_name(ssl, apns->host) != 1 || SSL_set1_host(ssl, apns->host) != 1) {
		return false;
	}
	if (line->p8) return true;
	return SSL_use_certificate(ssl, line->certificate) == 1 && SSL_use_PrivateKey(ssl, line->key) == 1 &&
	       SSL_add1_chain_cert(ssl, line->issuer) == 1;
}

enum err connection_begin(struct apns_line *line, int fd)
{
	struct apns       *apns = line->apns;
	struct connection *connection = calloc(1, sizeof *connection);
	if (!connection) {
		close(fd);
		return ERR_NO_MEMORY;
	}
	*connection = (struct connection){.source.on_event = on_event,
	                                  .apns = apns,
	                                  .line = line,
	                                  .fd = fd,
	                                  .is_ready = true,
	                                  .began = apns->now,
	                                  .heard = apns->now,
	                                  .used = apns->now};
	TAILQ_INIT(&connection->open);
	TAILQ_INSERT_TAIL(&line->connections, connection, of_line);
	TAILQ_INSERT_TAIL(&apns->connections, connection, of_all);
	apns->connection_count++;
	if (set_up_tls(connection) && source_watch(apns, &connection->source, fd, EPOLLIN)) return OK;
	ERR_clear_error();
	connection_end(connection);
	return ERR_NO_MEMORY;
}

void connection_end(struct connection *connection)
{
	struct apns *apns = connection->apns;
	end_pushes(connection, APNS_AGAIN,
	           connection->reason[0] ? connection->reason : "the connection was closed");
	TAILQ_REMOVE(&connection->line->connections, connection, of_line);
	TAILQ_REMOVE(&apns->connections, connection, of_all);
	apns->connection_count--;
	connection->state = CONNECTION_DEAD;
	if (connection->session) { /* a last frame, if there is room for it */
		bool wants_out = false;
		nghttp2_session_terminate_session(connection->session, NGHTTP2_NO_ERROR);
		if (!connection->reason[0]) write_all(connection, &wants_out);
	}
	close(connection->fd); /* which also removes it from epoll */
	connection->fd = -1;
	TAILQ_INSERT_TAIL(&apns->dead_connections, connection, of_all);
}

void connection_free(struct connection *connection)
{
	nghttp2_session_del(connection->session);
	SSL_free(connection->ssl);
	free(connection);
}
