/* A request of the public listener, hop by hop: a gate has let it in; find the route; read the key; hold path,
 * query and body against the message's fields; pass it to the account's shard; answer what comes back.
 *
 * Whether a key is good only the shard knows, and a stranger is told nothing but 401. So whatever is found
 * wrong here (no such route, a body that is no JSON) is remembered, a bare AUTH is sent in place of the
 * operation, and the error is told once AUTH has come back good. */
#include "http/request.h"
#include "http/answer.h"
#include "http/bearer.h"
#include "http/cors.h"
#include "http/idempotency_key.h"
#include "http/openapi.h"
#include "http/page.h"
#include "schemas/api/system.h"

#include <strings.h>

static const struct span nothing = {NULL, 0};

static struct span span_of_iovec(h2o_iovec_t bytes)
{
	return span_of(bytes.base, bytes.len);
}

static bool name_is(const h2o_iovec_t *name, const char *text, size_t size)
{
	return name->len == size && memcmp(name->base, text, size) == 0;
}

static bool is_caseless(struct span text, const char *other)
{
	return text.size == strlen(other) && strncasecmp((const char *)text.at, other, text.size) == 0;
}

/* h2o has lower-cased the names, and made those it knows into tokens that compare by address. Of the blanks around a
 * value it leaves those behind it. */
static void read_headers(const h2o_req_t *req, struct request_headers *headers)
{
	*headers = (struct request_headers){0};
	for (size_t i = 0; i < req->headers.size; i++) {
		const h2o_header_t *header = &req->headers.entries[i];
		struct span         value = guard_trim(span_of_iovec(header->value));
		if (header->name == &H2O_TOKEN_AUTHORIZATION->buf) {
			headers->authorization = value;
			headers->authorizations++;
		} else if (header->name == &H2O_TOKEN_CONTENT_TYPE->buf) {
			headers->content_type = value;
		} else if (header->name == &H2O_TOKEN_CONTENT_ENCODING->buf) {
			headers->is_coded |= value.size && !is_caseless(value, "identity");
		} else if (header->name == &H2O_TOKEN_IF_NONE_MATCH->buf) {
			headers->if_none_match = value;
		} else if (name_is(header->name, H2O_STRLIT("x-request-id"))) {
			headers->request_id = value;
		} else if (name_is(header->name, H2O_STRLIT("origin"))) {
			headers->origin = value;
		} else if (name_is(header->name, H2O_STRLIT("idempotency-key"))) {
			headers->idempotency_key = value;
			headers->idempotency_keys++;
		} else if (name_is(header->name, H2O_STRLIT("access-control-request-method"))) {
			headers->preflight_method = value;
		}
	}
}

/* --- begin --- */

/* A random start and an odd stride: the numbers look unrelated and repeat after 2^64. */
struct span request_own_id(struct http_thread *thread, h2o_req_t *req)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t          number = thread->id_base + ++thread->id_count * UINT64_C(0x9e3779b97f4a7c15);
	char             *text = h2o_mem_alloc_pool(&req->pool, 16);
	for (int i = 15; i >= 0; i--, number >>= 4)
		text[i] = digits[number & 15];
	return span_of(text, 16);
}

/* The caller's id if it may stand in a header, else one of ours. */
static struct span choose_id(struct request *request, struct span given)
{
	if (request_id_is_valid(given)) return given;
	return request_own_id(request->thread, request->req);
}

static void on_dispose(void *memory)
{
	struct request *request = memory;
	pending_forget(&request->pending);
	answer_forget(request);
	request->thread->in_flight--;
	gate_done(request->gate, request->req->http1_is_persistent);
}

enum err request_begin(h2o_req_t *req, struct request **begun, struct request_headers *headers)
{
	struct http_thread *thread = thread_of(req);
	struct request     *request = h2o_mem_alloc_shared(&req->pool, sizeof *request, on_dispose);
	struct gate        *gate = gate_of(req);
	*request = (struct request){.thread = thread, .gate = gate, .req = req, .begun = thread_now(thread)};
	request->without_body = h2o_memis(req->method.base, req->method.len, H2O_STRLIT("HEAD"));
	thread->in_flight++;
	thread->last_request = request->begun;
	read_headers(req, headers);
	request->id = choose_id(request, headers->request_id);
	if (cors_allows(thread_options(thread), headers->origin)) request->origin = headers->origin;
	*begun = request;
	if (!gate->refusal) return OK;
	req->http1_is_persistent = 0; /* where the next request begins is anybody's guess */
	if (gate->refusal == ERR_PAYLOAD_TOO_LARGE || gate->refusal == ERR_UNAUTHENTICATED) return OK;
	request->is_unread = true;
	answer_error(request, gate->refusal, nothing, span_str(thread->refusal.message));
	return gate->refusal;
}

void request_target(const h2o_req_t *req, struct span *path, struct span *query)
{
	const char *mark = memchr(req->path.base, '?', req->path.len);
	*path = span_of_iovec(req->path);
	*query = nothing;
	if (!mark) return;
	path->size = (size_t)(mark - req->path.base);
	*query = span_of(mark + 1, req->path.len - path->size - 1);
}

/* --- what the request says --- */

static bool read_key(struct bearer *bearer, const struct request_headers *headers, struct call *head)
{
	if (headers->authorizations != 1 || !bearer_read(headers->authorization, bearer)) return false;
	head->has_account = head->has_key_hash = true;
	head->account = bearer->account;
	memcpy(head->key_hash, bearer->key_hash, sizeof head->key_hash);
	return true;
}

static bool is_json_type(struct span type)
{
	static const char json[] = "application/json";
	size_t            size = sizeof json - 1;
	if (type.size < size || strncasecmp((const char *)type.at, json, size) != 0) return false;
	while (size < type.size && (type.at[size] == ' ' || type.at[size] == '\t'))
		size++;
	return size == type.size || type.at[size] == ';';
}

/* Every operation that may change something takes such a key. */
static bool heeds_key(const struct request *request, const struct request_headers *headers)
{
	return headers->idempotency_keys && request->route->method != METHOD_GET;
}

/* A path that is none, or that does not take the method. */
static void explain_route(const struct request *request, enum err err, struct span path,
                          struct refusal *refusal)
{
	char          methods[ALLOW_TEXT];
	struct reason reason = {.cause = CAUSE_PATH_UNKNOWN, .wanted = methods};
	route_allow_text(request->allow, methods);
	if (err == ERR_METHOD_NOT_ALLOWED)
		reason.cause = CAUSE_METHOD_OTHER;
	else if (!bearer_guards(path))
		reason.cause = CAUSE_PATH_OUTSIDE;
	else if (path.at[path.size - 1] == '/')
		reason.cause = CAUSE_PATH_SLASH;
	(void)!refusal_of(refusal, &reason);
	refusal->field = nothing;
}

/* Checks and packs all that can be judged here, in the order that the interface fixes. */
static enum err read_operation(struct request *request, const struct request_headers *headers,
                               struct refusal *refusal)
{
	struct http_thread *thread = request->thread;
	struct route_match  match;
	struct span         path, query, body = gate_body(request->gate);
	struct reason       reason = {.most = IDEMPOTENCY_KEY_BYTES_MAX};
	request_target(request->req, &path, &query);
	enum err err = route_find(span_of_iovec(request->req->method), path, &match);
	request->route = match.route;
	request->allow = match.allow;
	if (err) explain_route(request, err, path, refusal);
	if (err) return err;
	if (request->gate->refusal) {
		*refusal = thread->refusal;
		return request->gate->refusal;
	}
	enum message message = match.route->message;
	bool         is_json = is_json_type(headers->content_type) && !headers->is_coded;
	if (body.size && arguments_have_body(message) && !is_json) {
		reason.given = headers->content_type;
		reason.cause = headers->is_coded   ? CAUSE_TYPE_CODED
		               : reason.given.size ? CAUSE_TYPE_OTHER
		                                   : CAUSE_TYPE_MISSING;
		return refusal_of(refusal, &reason);
	}
	struct arguments_source source = {.params = match.params, .query = query, .body = body};
	err = arguments_pack(message, &source, &thread->memory, &thread->arguments, refusal);
	if (err || !heeds_key(request, headers)) return err;
	if (headers->idempotency_keys == 1 && idempotency_key_is_valid(headers->idempotency_key)) return OK;
	reason.cause = headers->idempotency_keys == 1 ? CAUSE_KEY_FORM : CAUSE_KEY_TWICE;
	reason.field = span_str("Idempotency-Key");
	return refusal_of(refusal, &reason);
}

/* --- the shard's word --- */

/* How long an answer may be late that the shard gives at the end of its wait: it looks at the time now and then. */
enum { BEGUN_LATE_MS = 250 };

/* The pass is stored, and its issuance begun: whatever happens now, that is what the client is told. */
static void on_begun(struct request *request, const struct reply *reply)
{
	mono_us now = thread_now(request->thread);
	pending_extend(&request->pending,
	               mono_after(now, (dur_us){(ISSUANCE_WAIT_MS + BEGUN_LATE_MS) * US_PER_MS}));
	answer_keep(request, reply);
}

void request_heard(struct request *request, const struct reply *reply)
{
	if (!reply->key_id) return;
	request->has_key_id = true;
	request->key_id = *reply->key_id;
}

/* A request without a good key. Whether it names an account that exists, the sentence does not tell. */
static void answer_stranger(struct request *request, enum cause cause)
{
	char          text[REASON_TEXT];
	struct reason reason = {.cause = cause, .most = API_KEY_TEXT - 1};
	reason_text(&reason, text);
	answer_error(request, cause_err(cause), nothing, span_str(text));
}

static void on_reply(struct pending *pending, const struct reply *reply)
{
	struct request *request = (struct request *)pending;
	request_heard(request, reply);
	if (!reply->err && reply->flags & REPLY_MORE && request->route->answer == ANSWER_BEGUN) {
		on_begun(request, reply);
		return;
	}
	if (reply->err && request->has_begun) {
		answer_begun(request);
		return;
	}
	if (!reply->err) {
		answer_reply(request, reply);
		return;
	}
	const msgpack_object *payload = reply->payload;
	struct span           message = nothing;
	if (payload->type == MSGPACK_OBJECT_STR)
		message = span_of(payload->via.str.ptr, payload->via.str.size);
	if (reply->err == ERR_UNAUTHENTICATED)
		answer_stranger(request, CAUSE_BEARER_UNKNOWN);
	else
		answer_error(request, reply->err, reply->field, message);
}

/* AUTH's answer, where the error found at the edge may come before the one it brings. */
static bool edge_comes_first(const struct request *request, enum err auth)
{
	if (auth == OK) return true;
	if (auth == ERR_ACCOUNT_SUSPENDED)
		return request->route && message_row(request->route->message)->works_suspended;
	if (auth == ERR_RATE_LIMITED)
		return request->edge == ERR_ROUTE_NOT_FOUND || request->edge == ERR_METHOD_NOT_ALLOWED;
	return false;
}

static void on_auth_reply(struct pending *pending, const struct reply *reply)
{
	struct request *request = (struct request *)pending;
	request_heard(request, reply);
	if (edge_comes_first(request, reply->err))
		answer_error(request, request->edge, request->edge_field, request->edge_message);
	else
		on_reply(pending, reply);
}

static struct span keep_text(struct request *request, struct span text)
{
	return span_of_iovec(h2o_strdup(&request->req->pool, (const char *)text.at, text.size));
}

/* Puts AUTH in the operation's place, and lets it say which that was: that the account lacks a function is told before
 * what is wrong with body and fields, but not before a body that is too large or of another type. The field's name is in
 * memory that the next request reuses: as much of it as will be shown is copied. */
static void remember_edge(struct request *request, enum err edge, const struct refusal *refusal,
                          struct call *head)
{
	request->edge = edge;
	request->edge_field = nothing;
	request->edge_message = keep_text(request, span_str(refusal->message));
	if (refusal->field.at) request->edge_field = keep_text(request, field_shown(refusal->field));
	request->pending.on_reply = on_auth_reply;
	head->message = MSG_AUTH;
	buffer_clear(&request->thread->arguments);
	msgpack_packer packer = buffer_packer(&request->thread->arguments);
	msgpack_pack_array(&packer, ARGS_AUTH);
	if (request->route && edge != ERR_PAYLOAD_TOO_LARGE && edge != ERR_UNSUPPORTED_MEDIA_TYPE)
		msgpack_pack_uint32(&packer, request->route->message);
	else
		msgpack_pack_nil(&packer);
}

enum err request_ask(struct request *request, struct call *head)
{
	struct http_thread *thread = request->thread;
	head->deadline = mono_after(thread_now(thread), (dur_us){CALL_DEADLINE_MS * US_PER_MS});
	head->request_id = request->id;
	request->has_account = head->has_account;
	request->account = head->account;
	request->shard = slot_shard(account_slot(head->account), thread->service->shards);
	return thread_call(thread, &request->pending, request->shard, head, buffer_span(&thread->arguments));
}

static void begin_operation(struct request *request, const struct request_headers *headers, struct call *head)
{
	struct http_thread *thread = request->thread;
	struct refusal      refusal;
	struct idempotency  idempotency;
	arena_reset(&thread->memory.arena);
	buffer_clear(&thread->memory.scratch);
	buffer_clear(&thread->arguments);
	request->pending.on_reply = on_reply;
	refusal.field = nothing;
	refusal.message[0] = 0;
	enum err err = read_operation(request, headers, &refusal);
	if (err)
		remember_edge(request, err, &refusal, head);
	else
		head->message = request->route->message;
	if (!err && heeds_key(request, headers)) {
		const h2o_req_t  *req = request->req;
		const struct span sent[] = {span_of_iovec(req->method), span_of_iovec(req->path),
		                            gate_body(request->gate)};
		idempotency_of(headers->idempotency_key, sent, &idempotency);
		head->idempotency = &idempotency;
	}
	err = request_ask(request, head);
	if (err)
		answer_error(request, err, nothing, nothing);
	else
		gate_hold(request->gate);
}

static void answer_no_route(struct request *request, enum err err, struct span path)
{
	struct refusal refusal;
	explain_route(request, err, path, &refusal);
	answer_error(request, err, nothing, span_str(refusal.message));
}

static void answer_preflight(struct request *request)
{
	answer_header(request, "Access-Control-Allow-Methods", span_str(CORS_METHODS));
	answer_header(request, "Access-Control-Allow-Headers", span_str(CORS_HEADERS));
	answer_header(request, "Access-Control-Max-Age", span_str(CORS_MAX_AGE_SEC));
	answer_empty(request, 204);
}

/* What the interface is, for whoever asks: it is no secret, and the same for all. */
static void answer_document(struct request *request)
{
	const h2o_req_t *req = request->req;
	bool             gets = h2o_memis(req->method.base, req->method.len, H2O_STRLIT("GET"));
	struct span      document = buffer_span(&request->thread->service->document);
	enum err         err = gets || request->without_body ? OK : ERR_METHOD_NOT_ALLOWED;
	request->allow = 1u << METHOD_GET;
	if (!err) err = gate_charge_answer(request->gate, document.size);
	if (err == ERR_METHOD_NOT_ALLOWED)
		answer_no_route(request, err, nothing);
	else if (err)
		answer_error(request, err, nothing, nothing);
	else
		answer_text(request, 200, "application/json", document);
}

int on_public_request(h2o_handler_t *self, h2o_req_t *req)
{
	(void)self;
	struct request        *request;
	struct request_headers headers;
	struct call            head = {0};
	struct span            path, query;
	if (request_begin(req, &request, &headers)) return 0;
	bool options = h2o_memis(req->method.base, req->method.len, H2O_STRLIT("OPTIONS"));
	request_target(req, &path, &query);
	if (page_is_at(path))
		page_begin(request, &headers);
	else if (options && request->origin.size && headers.preflight_method.size)
		answer_preflight(request);
	else if (span_is(path, OPENAPI_PATH))
		answer_document(request);
	else if (!bearer_guards(path))
		answer_no_route(request, ERR_ROUTE_NOT_FOUND, path);
	else if (!read_key(&request->gate->bearer, &headers, &head))
		answer_stranger(request, bearer_judge(headers.authorization, headers.authorizations));
	else
		begin_operation(request, &headers, &head);
	return 0;
}
