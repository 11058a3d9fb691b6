/* HTTP/2, by libnghttp2. libcurl is not used: it ends each answer without a body with RST_STREAM, and Apple's answers have none;
 * and it gives up a connection of which one stream was refused. */
#include "actors/timer/apns/apns_inside.h"

#include "actors/rt/log.h"
#include "actors/rt/time.h"

#include <stdio.h>

enum { EXPIRES_S = 24 * 3600, REPEATS_MAX = 3, HEADERS_MAX = 9 };

void connection_fail(struct connection *connection, const char *reason)
{
	if (!connection->reason[0]) snprintf(connection->reason, sizeof connection->reason, "%s", reason);
}

static struct apns_push *push_of(nghttp2_session *session, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(session, stream);
}

/* A status has three digits. */
static int status_of(const uint8_t *value, size_t size)
{
	int status = 0;
	for (size_t i = 0; i < size; i++) {
		if (size != 3 || value[i] < '0' || value[i] > '9') return 0;
		status = 10 * status + (value[i] - '0');
	}
	return status;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags, void *user)
{
	struct apns_push *push = push_of(session, frame->hd.stream_id);
	(void)flags, (void)user;
	if (push && span_is(span_of(name, name_size), ":status")) push->status = status_of(value, value_size);
	return 0;
}

/* A body that is too long is cut, and then is no JSON. */
static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t size,
                   void *user)
{
	struct apns_push *push = push_of(session, stream);
	(void)flags, (void)user;
	if (!push) return 0;
	if (size > sizeof push->body - push->body_size) size = sizeof push->body - push->body_size;
	memcpy(push->body + push->body_size, bytes, size);
	push->body_size += size;
	return 0;
}

static const struct provider *provider_of(const struct apns_line *line, struct provider *provider)
{
	*provider = (struct provider){.team = line->team, .key_id = line->key_id, .key = line->p8};
	return provider;
}

static void judge(struct connection *connection, struct apns_push *push)
{
	struct apns_answer answer;
	struct provider    provider;
	struct apns       *apns = connection->apns;
	apns_judge(push->status, span_of(push->body, push->body_size), &answer);
	connection->answered = apns->now;
	if (apns->is_failing) log_info("pushes_work", "host=%s port=%u", apns->host, apns->options.port);
	apns->is_failing = false;
	if (answer.fate == APNS_TOKEN_EXPIRED) {
		bool is_new = connection->line->p8 && push->repeats < REPEATS_MAX &&
		              provider_token_expire(apns->tokens, provider_of(connection->line, &provider),
		                                    push->sent, apns->now);
		if (is_new) {
			push_again(push);
			return;
		}
		answer.fate = APNS_HELD;
	}
	if (answer.fate == APNS_TOKEN_TOO_NEW) {
		answer.fate = APNS_AGAIN;
		line_rest(connection->line, answer.reason);
		connection_fail(connection, answer.reason);
	}
	if (answer.fate == APNS_DONE || answer.fate == APNS_GONE) {
		connection->is_proven = true;
		connection->line->wait.v = 0;
		connection->line->is_refused = false;
	}
	push_judged(push, &answer);
	if (answer.fate == APNS_HELD) line_give_up(connection->line, APNS_HELD, answer.reason);
}

/* Every stream ends here once. One that was refused, or lies beyond what a GOAWAY names, was not begun: it is sent again at once, on
 * another connection. */
static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *user)
{
	struct connection *connection = user;
	struct apns_push  *push = push_of(session, stream);
	if (!push) return 0;
	if (error == NGHTTP2_REFUSED_STREAM && push->repeats < REPEATS_MAX) {
		connection->is_draining = true;
		push_again(push);
	} else if (error == NGHTTP2_NO_ERROR && push->status) {
		judge(connection, push);
	} else {
		push_end(push, APNS_AGAIN, "the stream was reset");
	}
	return 0;
}

/* A request that was never sent, because of a GOAWAY before it. Its stream is closed next. */
static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error, void *user)
{
	struct connection *connection = user;
	(void)session, (void)error;
	if (frame->hd.type == NGHTTP2_HEADERS) connection->is_draining = true;
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct connection *connection = user;
	(void)session;
	if (frame->hd.type == NGHTTP2_GOAWAY) connection->is_draining = true;
	if (frame->hd.type == NGHTTP2_SETTINGS && !(frame->hd.flags & NGHTTP2_FLAG_ACK) &&
	    connection->state == CONNECTION_GREETS)
		connection->state = CONNECTION_UP;
	return 0;
}

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *bytes, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *user)
{
	(void)session, (void)stream, (void)source, (void)user;
	if (size < 2) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	memcpy(bytes, "{}", 2);
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	return 2;
}

/* Headers of one request. */
struct headers {
	nghttp2_nv of[HEADERS_MAX];
	size_t     count;
};

static void add(struct headers *headers, const char *name, struct span value, uint8_t flags)
{
	headers->of[headers->count++] = (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
	                                             .namelen = strlen(name),
	                                             .value = (uint8_t *)(uintptr_t)value.at,
	                                             .valuelen = value.size,
	                                             .flags = flags};
}

bool session_push(struct connection *connection, struct apns_push *push)
{
	struct apns          *apns = connection->apns;
	struct apns_line     *line = connection->line;
	struct provider       provider;
	char                  expires[24];
	const char           *token = NULL;
	struct headers        headers = {.count = 0};
	nghttp2_data_provider body = {.read_callback = read_body};
	wall_us               real = time_wall();

	if (line->p8 &&
	    !(token = provider_token(apns->tokens, provider_of(line, &provider), apns->now, real)))
		return false;
	snprintf(expires, sizeof expires, "%lld", (long long)(real.v / US_PER_SEC + EXPIRES_S));
	add(&headers, ":method", span_str("POST"), 0);
	add(&headers, ":scheme", span_str("https"), 0);
	add(&headers, ":authority", span_str(apns->authority), 0);
	add(&headers, ":path", span_str(push->path), NGHTTP2_NV_FLAG_NO_INDEX); /* it does not come again */
	add(&headers, "apns-topic", line->pass_type, 0);
	add(&headers, "apns-push-type", span_str("alert"), 0);
	add(&headers, "apns-priority", span_str("10"), 0);
	add(&headers, "apns-expiration", span_str(expires), NGHTTP2_NV_FLAG_NO_INDEX);
	if (token) add(&headers, "authorization", span_str(token), 0);
	push->status = 0;
	push->body_size = 0;
	push->sent = apns->now;
	push->stream = nghttp2_submit_request(connection->session, NULL, headers.of, headers.count, &body,
	                                      push);
	return push->stream > 0;
}

void session_cancel(struct apns_push *push)
{
	nghttp2_session *session = push->connection->session;
	nghttp2_session_set_stream_user_data(session, push->stream, NULL);
	nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, push->stream, NGHTTP2_CANCEL);
}

enum err session_begin(struct connection *connection)
{
	nghttp2_session_callbacks   *callbacks;
	const nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
	if (nghttp2_session_callbacks_new(&callbacks)) return ERR_NO_MEMORY;
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_not_sent);
	int failed = nghttp2_session_client_new(&connection->session, callbacks, connection);
	nghttp2_session_callbacks_del(callbacks);
	if (!failed) failed = nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, &settings, 1);
	return failed ? ERR_NO_MEMORY : OK;
}
