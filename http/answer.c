/* Every answer goes through finish(): status, common headers, and always a length. Without one, h2o would close the connection
 * or send chunks. */
#include "http/answer.h"
#include "http/access_log.h"
#include "actors/rt/log.h"

#include <stdio.h>

static const char json_type[] = "application/json";

const char *reason_phrase(int status)
{
	switch (status) {
	case 200: return "OK";
	case 201: return "Created";
	case 202: return "Accepted";
	case 204: return "No Content";
	case 303: return "See Other";
	case 304: return "Not Modified";
	case 400: return "Bad Request";
	case 401: return "Unauthorized";
	case 402: return "Payment Required";
	case 403: return "Forbidden";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 409: return "Conflict";
	case 410: return "Gone";
	case 413: return "Payload Too Large";
	case 414: return "URI Too Long";
	case 415: return "Unsupported Media Type";
	case 422: return "Unprocessable Entity";
	case 429: return "Too Many Requests";
	case 431: return "Request Header Fields Too Large";
	case 500: return "Internal Server Error";
	case 502: return "Bad Gateway";
	case 503: return "Service Unavailable";
	case 504: return "Gateway Timeout";
	case 507: return "Insufficient Storage";
	default: return "Status";
	}
}

static void add_header(struct exchange *exchange, const char *name, struct span value)
{
	h2o_add_header_by_str(&exchange->req->pool, &exchange->req->res.headers, name, strlen(name), 0, NULL,
	                      (const char *)value.at, value.size);
}

void answer_header(struct exchange *exchange, const char *name, struct span value)
{
	h2o_iovec_t copy = h2o_strdup(&exchange->req->pool, (const char *)value.at, value.size);
	add_header(exchange, name, span_of(copy.base, copy.len));
}

static void note_key(struct connection *connection)
{
	connection->is_known = true;
	known_keys_add(&connection->thread->service->known_keys, connection->bearer.key_hash);
}

/* `size` SIZE_MAX: an answer that must not state its length, 204 or 304. */
static void finish(struct exchange *exchange, int status, h2o_iovec_t *parts, size_t count, size_t size)
{
	h2o_req_t          *req = exchange->req;
	struct http_thread *thread = exchange->thread;
	add_header(exchange, "X-Request-Id", exchange->id);
	if (thread_options(thread)->cors_origin_count) add_header(exchange, "Vary", span_str("Origin"));
	if (exchange->origin.size) add_header(exchange, "Access-Control-Allow-Origin", exchange->origin);
	req->res.status = status;
	req->res.reason = reason_phrase(status);
	req->res.content_length = size;
	metrics_answered(&thread->metrics, exchange->route, status,
	                 mono_since(thread_now(thread), exchange->begun));
	if (exchange->without_body) count = 0;
	access_log_request(thread->live->access, exchange, status, count ? size : 0);
	if (atomic_load_explicit(&thread->service->stopping, memory_order_relaxed))
		req->http1_is_persistent = 0;
	/* A client that knows how long the connection stays does not send into its end. */
	if (req->http1_is_persistent) add_header(exchange, "Keep-Alive", span_str(thread->live->keep_alive));
	if (exchange->has_key && status < 400) note_key(exchange->connection);
	connection_answering(exchange->connection, size == SIZE_MAX ? 0 : size, req->http1_is_persistent);
	h2o_start_response(req, &exchange->generator);
	h2o_send(req, parts, count, H2O_SEND_STATE_FINAL);
	connection_sending(exchange->connection);
}

void answer_text(struct exchange *exchange, int status, const char *content_type, struct span body)
{
	h2o_req_t  *req = exchange->req;
	h2o_iovec_t part = h2o_strdup(&req->pool, (const char *)body.at, body.size);
	h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, content_type,
	               strlen(content_type));
	finish(exchange, status, &part, body.size ? 1 : 0, body.size);
}

void answer_pieces(struct exchange *exchange, const char *content_type, h2o_iovec_t *pieces, size_t count,
                   size_t size)
{
	h2o_req_t *req = exchange->req;
	h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, content_type,
	               strlen(content_type));
	finish(exchange, 200, pieces, count, size);
}

void answer_empty(struct exchange *exchange, int status)
{
	finish(exchange, status, NULL, 0, status == 204 || status == 304 ? SIZE_MAX : 0);
}

enum err answer_shown(const struct exchange *exchange, enum err err)
{
	if (err < ERR_INTERFACE_COUNT) return err;
	if (err == ERR_NOT_MINE) return ERR_SHARD_UNAVAILABLE; /* the account moved; a retry finds it */
	log_warn("internal_error", "code=%s request_id=%.*s", err_code(err), (int)exchange->id.size,
	         (const char *)exchange->id.at);
	return ERR_INTERNAL;
}

/* Logged as info, since the client can retry. The shard or the supervisor logs the cause. */
static void log_unknown(const struct exchange *exchange)
{
	log_info("outcome_unknown", "route=%s shard=%u us=%lld request_id=%.*s",
	         exchange->route ? message_row(exchange->route->message)->name : "none", exchange->shard,
	         (long long)mono_since(thread_now(exchange->thread), exchange->begun).v,
	         (int)exchange->id.size, (const char *)exchange->id.at);
}

void answer_error_headers(struct exchange *exchange, int status)
{
	if (status == 401) add_header(exchange, "WWW-Authenticate", span_str("Bearer"));
	if (status == 503 || status == 429) add_header(exchange, "Retry-After", span_str("1"));
	if (status == 405) {
		char allow[ALLOW_TEXT];
		route_allow_text(exchange->allow, allow);
		answer_header(exchange, "Allow", span_str(allow));
	}
}

void answer_error(struct exchange *exchange, enum err err, struct span field, struct span message)
{
	struct buffer *body = &exchange->thread->body;
	enum err       shown = answer_shown(exchange, err);
	int            status = err_http(shown);
	if (status == 504) log_unknown(exchange);
	if (shown != err) field = message = span_of(NULL, 0);
	buffer_clear(body);
	json_error(shown, message, field, exchange->id, body);
	answer_error_headers(exchange, status);
	answer_text(exchange, status, json_type, buffer_span(body));
}

/* A write is done by now: its answer is sent whatever other answers take. It has at most 2 MiB, and what shards may have on its way
 * to this process is bounded. */
static enum err charge(struct exchange *exchange, size_t size)
{
	struct connection *connection = exchange->connection;
	if (message_row(exchange->route->message)->effect != EFFECT_WRITE)
		return connection_charge_answer(connection, size);
	connection_count_more(connection, size);
	return OK;
}

static void answer_object(struct exchange *exchange, const struct reply *reply)
{
	struct buffer *body = &exchange->thread->body;
	int            status = reply->flags & REPLY_ACCEPTED ? 202 : exchange->route->status;
	buffer_clear(body);
	enum err err = json_render(reply->payload, body);
	if (!err && body->failed) err = ERR_NO_MEMORY;
	if (!err) err = charge(exchange, body->size);
	if (err)
		answer_error(exchange, err, span_of(NULL, 0), span_of(NULL, 0));
	else
		answer_text(exchange, status, json_type, buffer_span(body));
}

/* The parts are not in the pool: an abandoned list frees its memory at once. */
void answer_forget(struct exchange *exchange)
{
	for (size_t i = 0; i < exchange->parts.size; i++)
		free(exchange->parts.entries[i].base);
	exchange->parts.size = exchange->parts_bytes = 0;
}

enum err answer_part(struct exchange *exchange, struct span part)
{
	enum err err = charge(exchange, part.size);
	if (err) return err;
	void *copy = malloc(part.size);
	if (!copy) return ERR_NO_MEMORY;
	memcpy(copy, part.at, part.size);
	h2o_vector_reserve(&exchange->req->pool, &exchange->parts, exchange->parts.size + 1);
	exchange->parts.entries[exchange->parts.size++] = h2o_iovec_init(copy, part.size);
	exchange->parts_bytes += part.size;
	return OK;
}

void answer_parts(struct exchange *exchange, int status, const char *content_type)
{
	h2o_req_t *req = exchange->req;
	h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, content_type,
	               strlen(content_type));
	finish(exchange, status, exchange->parts.entries, exchange->parts.size, exchange->parts_bytes);
}

static void say_replayed(struct exchange *exchange)
{
	add_header(exchange, "Idempotency-Replayed", span_str("true"));
}

void answer_begun(struct exchange *exchange)
{
	if (exchange->begun_replayed) say_replayed(exchange);
	answer_parts(exchange, 202, json_type);
}

void answer_keep(struct exchange *exchange, const struct reply *reply)
{
	struct buffer *body = &exchange->thread->body;
	buffer_clear(body);
	enum err err = json_render(reply->payload, body);
	if (!err && body->failed) err = ERR_NO_MEMORY;
	if (!err) err = answer_part(exchange, buffer_span(body));
	exchange->has_begun = !err;
	exchange->begun_replayed = reply->flags & REPLY_REPLAYED;
	if (!err) return;
	pending_forget(&exchange->pending);
	answer_error(exchange, err, span_of(NULL, 0), span_of(NULL, 0));
}

/* Text before and after the items of a list. */
static const struct envelope {
	const char *before, *after;
} envelopes[] = {
    [ANSWER_LIST] = {"[", "]"},
    [ANSWER_ARRAY] = {"[", "]"},
    [ANSWER_REWARDS] = {"{\"rewards\":[", "]}"},
    [ANSWER_ENTITLEMENTS] = {"{\"entitlements\":[", "]}"},
    [ANSWER_SUBSCRIPTIONS] = {"{\"subscriptions\":[", "]}"},
};

/* Renders the items of one part and keeps them with the request. */
static enum err add_part(struct exchange *exchange, const msgpack_object *items, bool last)
{
	const struct envelope *envelope = &envelopes[exchange->route->answer];
	struct buffer         *body = &exchange->thread->body;
	buffer_clear(body);
	if (exchange->parts.size == 0) buffer_text(body, envelope->before);
	if (items->type != MSGPACK_OBJECT_ARRAY) return ERR_MALFORMED;
	for (uint32_t i = 0; i < items->via.array.size; i++) {
		if (exchange->parts_have_items) buffer_byte(body, ',');
		exchange->parts_have_items = true;
		enum err err = json_render(&items->via.array.ptr[i], body);
		if (err) return err;
	}
	if (last) buffer_text(body, envelope->after);
	if (body->failed) return ERR_NO_MEMORY;
	if (body->size == 0) return OK; /* h2o treats an empty piece as unwritten */
	return answer_part(exchange, buffer_span(body));
}

/* The last part is [items, total, has_more]. A list inside an object is always complete and needs no counts. */
static enum err end_list(struct exchange *exchange, const msgpack_object *payload)
{
	if (payload->type != MSGPACK_OBJECT_ARRAY || payload->via.array.size != 3) return ERR_MALFORMED;
	const msgpack_object *items = &payload->via.array.ptr[0];
	const msgpack_object *total = &payload->via.array.ptr[1], *has_more = &payload->via.array.ptr[2];
	if (total->type != MSGPACK_OBJECT_POSITIVE_INTEGER || has_more->type != MSGPACK_OBJECT_BOOLEAN)
		return ERR_MALFORMED;
	enum err err = add_part(exchange, items, true);
	if (err || exchange->route->answer != ANSWER_LIST) return err;
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)total->via.u64);
	answer_header(exchange, "X-Total-Count", span_str(text));
	add_header(exchange, "X-Has-More", span_str(has_more->via.boolean ? "true" : "false"));
	return OK;
}

static void answer_list(struct exchange *exchange, const struct reply *reply)
{
	bool     more = reply->flags & REPLY_MORE;
	enum err err = more ? add_part(exchange, reply->payload, false) : end_list(exchange, reply->payload);
	if (err) {
		pending_forget(&exchange->pending);
		answer_forget(exchange);
		answer_error(exchange, err, span_of(NULL, 0), span_of(NULL, 0));
		return;
	}
	if (!more) answer_parts(exchange, exchange->route->status, json_type);
}

void answer_reply(struct exchange *exchange, const struct reply *reply)
{
	if (reply->flags & REPLY_REPLAYED) say_replayed(exchange);
	switch (exchange->route->answer) {
	case ANSWER_NONE: answer_empty(exchange, exchange->route->status); break;
	case ANSWER_OBJECT:
	case ANSWER_BEGUN: answer_object(exchange, reply); break;
	case ANSWER_LIST:
	case ANSWER_ARRAY:
	case ANSWER_REWARDS:
	case ANSWER_ENTITLEMENTS:
	case ANSWER_SUBSCRIPTIONS: answer_list(exchange, reply); break;
	case ANSWER_PAGE:
	case ANSWER_IMAGE:
	case ANSWER_PACKAGE:
	case ANSWER_LINK:
	case ANSWER_PHONE: must(false); /* page.c, wallet.c, google.c and phone.c answer these themselves */
	}
}
