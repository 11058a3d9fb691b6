/* A request of the public listener, step by step: find the route, read the key, check path, query and body against the
 * message's fields, call the account's shard, answer with its reply.
 *
 * Only the shard knows whether a key is good, and a client without a good key gets nothing but 401. So an error found here (no
 * such route, invalid JSON) is remembered. A bare AUTH is sent in place of the operation, and the error is reported after AUTH
 * has succeeded. */
#include "http/request.h"
#include "http/answer.h"
#include "http/bearer.h"
#include "http/cors.h"
#include "http/idempotency_key.h"
#include "http/no_route.h"
#include "http/openapi.h"
#include "http/page.h"
#include "http/phone.h"
#include "http/phone_parts.h"
#include "http/wallet_site.h"
#include "schemas/api/system.h"

#include <strings.h>

static const struct span nothing = {NULL, 0};

static struct span span_of_iovec(h2o_iovec_t bytes)
{
	return span_of(bytes.base, bytes.len);
}

/* --- reading the request --- */

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

/* Every operation that may change something accepts such a key. */
static bool heeds_key(const struct exchange *exchange, const struct request_headers *headers)
{
	return headers->idempotency_keys && exchange->route->method != METHOD_GET;
}

/* Finds the route and makes the checks that precede the body's content. */
static enum err find_operation(struct exchange *exchange, const struct request_headers *headers,
                               struct route_match *match, struct refusal *refusal)
{
	enum err err = route_find(span_of_iovec(exchange->req->method), exchange->path, match);
	exchange->route = match->route;
	exchange->allow = match->allow;
	if (err) no_route_explain(exchange, err, exchange->path, refusal);
	if (err) return err;
	if (exchange->connection->refusal) {
		*refusal = exchange->thread->refusal;
		return exchange->connection->refusal;
	}
	bool is_json = is_json_type(headers->content_type) && !headers->is_coded;
	if (!connection_body(exchange->connection).size || !arguments_have_body(match->route->message) ||
	    is_json)
		return OK;
	struct reason reason = {.given = headers->content_type};
	reason.cause = headers->is_coded   ? CAUSE_TYPE_CODED
	               : reason.given.size ? CAUSE_TYPE_OTHER
	                                   : CAUSE_TYPE_MISSING;
	return refusal_of(refusal, &reason);
}

/* Runs after the fields are checked: the interface refuses a malformed key at that point. */
static enum err check_key(const struct exchange *exchange, const struct request_headers *headers,
                          struct refusal *refusal)
{
	struct reason reason = {.field = span_str("Idempotency-Key"), .most = IDEMPOTENCY_KEY_BYTES_MAX};
	if (!heeds_key(exchange, headers)) return OK;
	if (headers->idempotency_keys == 1 && idempotency_key_is_valid(headers->idempotency_key)) return OK;
	reason.cause = headers->idempotency_keys == 1 ? CAUSE_KEY_FORM : CAUSE_KEY_TWICE;
	return refusal_of(refusal, &reason);
}

/* --- the shard's reply --- */

/* How late the shard's last answer may be: it checks its clock only now and then. */
enum { BEGUN_LATE_MS = 250 };

/* The pass is stored, and its issuance has begun. From now on, this is what the client gets at least. If creations have half of
 * the places, it is all that this one gets: a connection that waits is never evicted. */
static void on_begun(struct exchange *exchange, const struct reply *reply)
{
	struct http_thread *thread = exchange->thread;
	mono_us             now = thread_now(thread);
	pending_extend(&exchange->pending,
	               mono_after(now, (dur_us){(ISSUANCE_WAIT_MS + BEGUN_LATE_MS) * US_PER_MS}));
	answer_keep(exchange, reply);
	if (!exchange->has_begun || ++thread->begun <= thread->table.max / 2) return;
	pending_forget(&exchange->pending);
	answer_begun(exchange);
}

/* A request without a good key. The message does not reveal whether the account exists. */
static void answer_stranger(struct exchange *exchange, enum cause cause)
{
	char          text[REASON_TEXT];
	struct reason reason = {.cause = cause, .most = API_KEY_TEXT - 1};
	reason_text(&reason, text);
	answer_error(exchange, cause_err(cause), nothing, span_str(text));
}

static void on_reply(struct pending *pending, const struct reply *reply)
{
	struct exchange *exchange = (struct exchange *)pending;
	exchange_heard(exchange, reply);
	if (!reply->err && reply->flags & REPLY_MORE && exchange->route->answer == ANSWER_BEGUN) {
		on_begun(exchange, reply);
		return;
	}
	if (reply->err && exchange->has_begun) {
		answer_begun(exchange);
		return;
	}
	if (!reply->err) {
		answer_reply(exchange, reply);
		return;
	}
	const msgpack_object *payload = reply->payload;
	struct span           message = nothing;
	if (payload->type == MSGPACK_OBJECT_STR)
		message = span_of(payload->via.str.ptr, payload->via.str.size);
	if (reply->err == ERR_UNAUTHENTICATED)
		answer_stranger(exchange, CAUSE_BEARER_UNKNOWN);
	else
		answer_error(exchange, reply->err, reply->field, message);
}

/* Does the error found at the edge take precedence over AUTH's result? */
static bool edge_comes_first(const struct exchange *exchange, enum err auth)
{
	if (auth == OK) return true;
	if (auth == ERR_ACCOUNT_SUSPENDED)
		return exchange->route && message_row(exchange->route->message)->works_suspended;
	if (auth == ERR_RATE_LIMITED)
		return exchange->edge == ERR_ROUTE_NOT_FOUND || exchange->edge == ERR_METHOD_NOT_ALLOWED;
	return false;
}

static void on_auth_reply(struct pending *pending, const struct reply *reply)
{
	struct exchange *exchange = (struct exchange *)pending;
	exchange_heard(exchange, reply);
	if (edge_comes_first(exchange, reply->err))
		answer_error(exchange, exchange->edge, exchange->edge_field, exchange->edge_message);
	else
		on_reply(pending, reply);
}

/* The next request reuses the memory of the field's name: copies what will be shown. */
static void remember_refusal(struct exchange *exchange, const struct refusal *refusal)
{
	exchange->edge_field = nothing;
	exchange->edge_message = exchange_keep(exchange, span_str(refusal->message));
	if (refusal->field.at)
		exchange->edge_field = exchange_keep(exchange,
		                                     utf8_cut(refusal->field, ERROR_FIELD_BYTES_MAX));
}

/* Sends AUTH in place of the operation and names the operation. A missing function of the account is reported before errors of
 * body and fields, but after a body that is too large or of another type. */
static enum err ask_auth(struct exchange *exchange, struct call *head)
{
	msgpack_packer packer;
	bool           says_which = exchange->edge != ERR_PAYLOAD_TOO_LARGE &&
	                  exchange->edge != ERR_UNSUPPORTED_MEDIA_TYPE;
	head->message = MSG_AUTH;
	head->idempotency = NULL;
	enum err err = exchange_ask(exchange, head, on_auth_reply, ARGS_AUTH, &packer);
	if (err) return err;
	if (exchange->route && says_which)
		msgpack_pack_uint32(&packer, exchange->route->message);
	else
		msgpack_pack_nil(&packer);
	exchange_send(exchange);
	return OK;
}

static void hash_key(const struct exchange *exchange, const struct request_headers *headers,
                     struct idempotency *idempotency)
{
	const h2o_req_t  *req = exchange->req;
	const struct span sent[] = {span_of_iovec(req->method), span_of_iovec(req->path),
	                            connection_body(exchange->connection)};
	idempotency_of(headers->idempotency_key, sent, idempotency);
}

/* Checks the arguments and packs them into the call. exchange->edge: their error; no call is made then. */
static enum err ask_operation(struct exchange *exchange, const struct request_headers *headers,
                              const struct route_match *match, struct call *head, struct refusal *refusal)
{
	struct buffer          *arguments;
	struct idempotency      idempotency;
	struct arguments_source source = {
	    .params = match->params, .query = exchange->query, .body = connection_body(exchange->connection)};
	head->message = match->route->message;
	exchange->pending.on_reply = on_reply;
	if (heeds_key(exchange, headers)) {
		hash_key(exchange, headers, &idempotency);
		head->idempotency = &idempotency;
	}
	enum err err = exchange_call(exchange, head, &arguments);
	if (err) return err;
	exchange->edge = arguments_pack(head->message, &source, &exchange->thread->memory, arguments,
	                                refusal);
	if (!exchange->edge) exchange->edge = check_key(exchange, headers, refusal);
	if (exchange->edge)
		exchange_abort(exchange);
	else
		exchange_send(exchange);
	return OK;
}

static void begin_operation(struct exchange *exchange, const struct request_headers *headers,
                            struct call *head)
{
	struct http_thread *thread = exchange->thread;
	struct refusal      refusal;
	struct route_match  match;
	arena_reset(&thread->memory.arena);
	buffer_clear(&thread->memory.scratch);
	refusal.field = nothing;
	refusal.message[0] = 0;
	enum err err = OK;
	exchange->edge = find_operation(exchange, headers, &match, &refusal);
	if (!exchange->edge) err = ask_operation(exchange, headers, &match, head, &refusal);
	if (!err && exchange->edge) {
		remember_refusal(exchange, &refusal);
		err = ask_auth(exchange, head);
	}
	if (err)
		answer_error(exchange, err, nothing, nothing);
	else
		connection_hold(exchange->connection);
}

static void answer_preflight(struct exchange *exchange)
{
	answer_header(exchange, "Access-Control-Allow-Methods", span_str(CORS_METHODS));
	answer_header(exchange, "Access-Control-Allow-Headers", span_str(CORS_HEADERS));
	answer_header(exchange, "Access-Control-Max-Age", span_str(CORS_MAX_AGE_SEC));
	answer_empty(exchange, 204);
}

/* The interface's document is public and the same for all. */
static void answer_document(struct exchange *exchange)
{
	const h2o_req_t *req = exchange->req;
	bool             gets = h2o_memis(req->method.base, req->method.len, H2O_STRLIT("GET"));
	struct span      document = buffer_span(&exchange->thread->service->document);
	enum err         err = gets || exchange->without_body ? OK : ERR_METHOD_NOT_ALLOWED;
	exchange->allow = 1u << METHOD_GET;
	if (!err) err = connection_charge_answer(exchange->connection, document.size);
	if (err == ERR_METHOD_NOT_ALLOWED)
		no_route_answer(exchange, err);
	else if (err)
		answer_error(exchange, err, nothing, nothing);
	else
		answer_text(exchange, 200, "application/json", document);
}

int on_public_request(h2o_handler_t *self, h2o_req_t *req)
{
	(void)self;
	struct exchange       *exchange;
	struct request_headers headers;
	struct call            head = {0};
	if (exchange_begin(req, &exchange, &headers)) return 0;
	struct span path = exchange->path;
	if (page_is_at(path))
		page_begin(exchange, &headers);
	else if (exchange_is_preflight(exchange, &headers))
		answer_preflight(exchange);
	else if (span_is(path, OPENAPI_PATH))
		answer_document(exchange);
	else if (phone_is_at(path))
		phone_begin(exchange, &headers);
	else if (wallet_site_is_at(path))
		wallet_site_begin(exchange);
	else if (!bearer_guards(path))
		no_route_answer(exchange, ERR_ROUTE_NOT_FOUND);
	else if (!read_key(&exchange->connection->bearer, &headers, &head))
		answer_stranger(exchange, bearer_judge(headers.authorization, headers.authorizations));
	else
		begin_operation(exchange, &headers, &head);
	return 0;
}
