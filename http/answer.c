/* Every byte that leaves as an answer goes through finish(): status, the headers that all answers carry, and
 * a length that is always known, since h2o would otherwise close the connection or chunk. */
#include "http/answer.h"
#include "http/access_log.h"
#include "http/page.h"
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

static void add_header(struct request *request, const char *name, struct span value)
{
	h2o_add_header_by_str(&request->req->pool, &request->req->res.headers, name, strlen(name), 0, NULL,
	                      (const char *)value.at, value.size);
}

void answer_header(struct request *request, const char *name, struct span value)
{
	h2o_iovec_t copy = h2o_strdup(&request->req->pool, (const char *)value.at, value.size);
	add_header(request, name, span_of(copy.base, copy.len));
}

/* `size` SIZE_MAX: an answer that must not say its length, a 204 or 304. */
static void finish(struct request *request, int status, h2o_iovec_t *parts, size_t count, size_t size)
{
	h2o_req_t          *req = request->req;
	struct http_thread *thread = request->thread;
	add_header(request, "X-Request-Id", request->id);
	if (thread_options(thread)->cors_origin_count) add_header(request, "Vary", span_str("Origin"));
	if (request->origin.size) add_header(request, "Access-Control-Allow-Origin", request->origin);
	req->res.status = status;
	req->res.reason = reason_phrase(status);
	req->res.content_length = size;
	metrics_answered(&thread->metrics, request->route, status,
	                 mono_since(thread_now(thread), request->begun));
	if (request->without_body) count = 0;
	access_log_request(thread->service->access, request, status, count ? size : 0);
	if (atomic_load_explicit(&thread->service->stopping, memory_order_relaxed))
		req->http1_is_persistent = 0;
	gate_answering(request->gate, size == SIZE_MAX ? 0 : size, req->http1_is_persistent);
	h2o_start_response(req, &request->generator);
	h2o_send(req, parts, count, H2O_SEND_STATE_FINAL);
	gate_sending(request->gate);
}

void answer_text(struct request *request, int status, const char *content_type, struct span body)
{
	h2o_req_t  *req = request->req;
	h2o_iovec_t part = h2o_strdup(&req->pool, (const char *)body.at, body.size);
	h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, content_type,
	               strlen(content_type));
	finish(request, status, &part, body.size ? 1 : 0, body.size);
}

void answer_empty(struct request *request, int status)
{
	finish(request, status, NULL, 0, status == 204 || status == 304 ? SIZE_MAX : 0);
}

struct span field_shown(struct span field)
{
	return utf8_cut(field, ERROR_FIELD_BYTES_MAX);
}

void error_body(struct buffer *out, enum err err, struct span field, struct span message,
                struct span request_id)
{
	buffer_text(out, "{\"code\":\"");
	buffer_text(out, err_code(err));
	buffer_text(out, "\",\"message\":");
	if (message.size == 0) message = span_str(field.at ? err_message_of_field(err) : err_message(err));
	json_quote(message, out);
	if (field.at) {
		buffer_text(out, ",\"field\":");
		json_quote(field_shown(field), out);
	}
	buffer_text(out, ",\"request_id\":");
	json_quote(request_id, out);
	buffer_byte(out, '}');
}

enum err answer_shown(const struct request *request, enum err err)
{
	if (err < ERR_INTERFACE_COUNT) return err;
	if (err == ERR_NOT_MINE) return ERR_SHARD_UNAVAILABLE; /* it moved; a retry finds it */
	log_warn("internal_error", "code=%s request_id=%.*s", err_code(err), (int)request->id.size,
	         (const char *)request->id.at);
	return ERR_INTERNAL;
}

/* A fact, since the client can ask again; why it came to this another line says, of the shard or the supervisor. */
static void tell_unknown(const struct request *request, enum err err)
{
	log_info("unanswered", "code=%s route=%s shard=%u us=%lld request_id=%.*s", err_code(err),
	         request->route ? message_row(request->route->message)->name : "none", request->shard,
	         (long long)mono_since(thread_now(request->thread), request->begun).v, (int)request->id.size,
	         (const char *)request->id.at);
}

void answer_error_headers(struct request *request, int status)
{
	if (status == 401) add_header(request, "WWW-Authenticate", span_str("Bearer"));
	if (status == 503 || status == 429) add_header(request, "Retry-After", span_str("1"));
	if (status == 405) {
		char allow[ALLOW_TEXT];
		route_allow_text(request->allow, allow);
		answer_header(request, "Allow", span_str(allow));
	}
}

void answer_error(struct request *request, enum err err, struct span field, struct span message)
{
	struct buffer *body = &request->thread->body;
	enum err       told = answer_shown(request, err);
	int            status = err_http(told);
	if (status == 504) tell_unknown(request, told);
	if (told != err) field = message = span_of(NULL, 0);
	buffer_clear(body);
	error_body(body, told, field, message, request->id);
	answer_error_headers(request, status);
	answer_text(request, status, json_type, buffer_span(body));
}

static void answer_object(struct request *request, const struct reply *reply)
{
	struct buffer *body = &request->thread->body;
	int            status = reply->flags & REPLY_ACCEPTED ? 202 : request->route->status;
	buffer_clear(body);
	enum err err = json_render(reply->payload, body);
	if (!err && body->failed) err = ERR_NO_MEMORY;
	if (!err) err = gate_charge_answer(request->gate, body->size);
	if (err)
		answer_error(request, err, span_of(NULL, 0), span_of(NULL, 0));
	else
		answer_text(request, status, json_type, buffer_span(body));
}

/* The parts are not the pool's: a list that is given up gives its memory back at once. */
void answer_forget(struct request *request)
{
	for (size_t i = 0; i < request->parts.size; i++)
		free(request->parts.entries[i].base);
	request->parts.size = request->parts_bytes = 0;
}

static enum err keep_part(struct request *request, struct span part)
{
	enum err err = gate_charge_answer(request->gate, part.size);
	if (err) return err;
	void *copy = malloc(part.size);
	if (!copy) return ERR_NO_MEMORY;
	memcpy(copy, part.at, part.size);
	h2o_vector_reserve(&request->req->pool, &request->parts, request->parts.size + 1);
	request->parts.entries[request->parts.size++] = h2o_iovec_init(copy, part.size);
	request->parts_bytes += part.size;
	return OK;
}

static void say_replayed(struct request *request)
{
	add_header(request, "Idempotency-Replayed", span_str("true"));
}

void answer_begun(struct request *request)
{
	h2o_req_t *req = request->req;
	if (request->begun_replayed) say_replayed(request);
	h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, json_type,
	               sizeof json_type - 1);
	finish(request, 202, request->parts.entries, request->parts.size, request->parts_bytes);
}

void answer_keep(struct request *request, const struct reply *reply)
{
	struct buffer *body = &request->thread->body;
	buffer_clear(body);
	enum err err = json_render(reply->payload, body);
	if (!err && body->failed) err = ERR_NO_MEMORY;
	if (!err) err = keep_part(request, buffer_span(body));
	request->has_begun = !err;
	request->begun_replayed = reply->flags & REPLY_REPLAYED;
	if (!err) return;
	pending_forget(&request->pending);
	answer_error(request, err, span_of(NULL, 0), span_of(NULL, 0));
}

/* What stands around the items of a list. */
static const struct envelope {
	const char *before, *after;
} envelopes[] = {
    [ANSWER_LIST] = {"[", "]"},
    [ANSWER_ARRAY] = {"[", "]"},
    [ANSWER_REWARDS] = {"{\"rewards\":[", "]}"},
    [ANSWER_ENTITLEMENTS] = {"{\"entitlements\":[", "]}"},
};

/* Renders the items of one part and keeps them with the request. */
static enum err add_part(struct request *request, const msgpack_object *items, bool last)
{
	const struct envelope *envelope = &envelopes[request->route->answer];
	struct buffer         *body = &request->thread->body;
	buffer_clear(body);
	if (request->parts.size == 0) buffer_text(body, envelope->before);
	if (items->type != MSGPACK_OBJECT_ARRAY) return ERR_MALFORMED;
	for (uint32_t i = 0; i < items->via.array.size; i++) {
		if (request->parts_have_items) buffer_byte(body, ',');
		request->parts_have_items = true;
		enum err err = json_render(&items->via.array.ptr[i], body);
		if (err) return err;
	}
	if (last) buffer_text(body, envelope->after);
	if (body->failed) return ERR_NO_MEMORY;
	if (body->size == 0) return OK; /* h2o takes an empty piece for one it has yet to write */
	return keep_part(request, buffer_span(body));
}

/* The last part is [items, total, has_more]. A list in an object is told whole, and needs no counts. */
static enum err end_list(struct request *request, const msgpack_object *payload)
{
	if (payload->type != MSGPACK_OBJECT_ARRAY || payload->via.array.size != 3) return ERR_MALFORMED;
	const msgpack_object *items = &payload->via.array.ptr[0];
	const msgpack_object *total = &payload->via.array.ptr[1], *has_more = &payload->via.array.ptr[2];
	if (total->type != MSGPACK_OBJECT_POSITIVE_INTEGER || has_more->type != MSGPACK_OBJECT_BOOLEAN)
		return ERR_MALFORMED;
	enum err err = add_part(request, items, true);
	if (err || request->route->answer != ANSWER_LIST) return err;
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)total->via.u64);
	answer_header(request, "X-Total-Count", span_str(text));
	add_header(request, "X-Has-More", span_str(has_more->via.boolean ? "true" : "false"));
	return OK;
}

static void answer_list(struct request *request, const struct reply *reply)
{
	h2o_req_t *req = request->req;
	bool       more = reply->flags & REPLY_MORE;
	enum err   err = more ? add_part(request, reply->payload, false) : end_list(request, reply->payload);
	if (err) {
		pending_forget(&request->pending);
		answer_forget(request);
		answer_error(request, err, span_of(NULL, 0), span_of(NULL, 0));
		return;
	}
	if (more) return;
	h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, json_type,
	               sizeof json_type - 1);
	finish(request, request->route->status, request->parts.entries, request->parts.size,
	       request->parts_bytes);
}

void answer_reply(struct request *request, const struct reply *reply)
{
	if (reply->flags & REPLY_REPLAYED) say_replayed(request);
	switch (request->route->answer) {
	case ANSWER_NONE: answer_empty(request, request->route->status); break;
	case ANSWER_OBJECT:
	case ANSWER_BEGUN: answer_object(request, reply); break;
	case ANSWER_LIST:
	case ANSWER_ARRAY:
	case ANSWER_REWARDS:
	case ANSWER_ENTITLEMENTS: answer_list(request, reply); break;
	case ANSWER_PAGE: page_answer(request, reply); break;
	case ANSWER_IMAGE: page_answer_image(request, reply); break;
	}
}
