/* How an exchange begins and ends, and its call to a shard. Used by the interface's operations, the pages and the admin
 * listener. */
#include "http/exchange.h"
#include "http/accept.h"
#include "http/answer.h"
#include "http/bearer.h"
#include "http/cors.h"

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

/* h2o has lower-cased the names and made known names tokens, which compare by address. It leaves blanks after a value. */
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
			headers->is_coded |= value.size && !span_is_caseless(value, "identity");
		} else if (header->name == &H2O_TOKEN_IF_NONE_MATCH->buf) {
			headers->if_none_match = value;
		} else if (header->name == &H2O_TOKEN_CONNECTION->buf) {
			headers->closes |= h2o_contains_token((const char *)value.at, value.size,
			                                      H2O_STRLIT("close"), ',');
		} else if (header->name == &H2O_TOKEN_IF_MODIFIED_SINCE->buf) {
			headers->if_modified_since = value;
		} else if (header->name == &H2O_TOKEN_USER_AGENT->buf) {
			headers->user_agent = value;
		} else if (header->name == &H2O_TOKEN_ACCEPT->buf) {
			headers->takes_package |= accept_names(value, WALLET_PACKAGE_TYPE);
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

struct span exchange_keep(struct exchange *exchange, struct span bytes)
{
	return span_of_iovec(h2o_strdup(&exchange->req->pool, (const char *)bytes.at, bytes.size));
}

/* The caller's id if it is valid in a header, else one of ours. */
static struct span choose_id(struct exchange *exchange, struct span given)
{
	if (request_id_is_valid(given)) return given;
	char *own = h2o_mem_alloc_pool(&exchange->req->pool, REQUEST_ID_BYTES);
	thread_request_id(exchange->thread, own);
	return span_of(own, REQUEST_ID_BYTES);
}

static void on_dispose(void *memory)
{
	struct exchange *exchange = memory;
	pending_forget(&exchange->pending);
	exchange->thread->begun -= exchange->has_begun;
	answer_forget(exchange);
	exchange->thread->in_flight--;
	connection_done(exchange->connection, exchange->req->http1_is_persistent);
}

static void read_target(struct exchange *exchange)
{
	struct span    target = span_of_iovec(exchange->req->path);
	const uint8_t *mark = memchr(target.at, '?', target.size);
	exchange->path = target;
	exchange->query = nothing;
	if (!mark) return;
	exchange->path.size = (size_t)(mark - target.at);
	exchange->query = span_of(mark + 1, target.size - exchange->path.size - 1);
}

bool exchange_is_preflight(const struct exchange *exchange, const struct request_headers *headers)
{
	h2o_iovec_t method = exchange->req->method;
	return h2o_memis(method.base, method.len, H2O_STRLIT("OPTIONS")) && exchange->origin.size &&
	       headers->preflight_method.size;
}

/* Errors of key and route come before those of the body. Where no key is asked for, nothing else looks at the body. */
static bool other_errors_come_first(const struct exchange *exchange, const struct request_headers *headers)
{
	const struct connection *connection = exchange->connection;
	enum err                 refusal = connection->refusal;
	if (refusal == ERR_PAYLOAD_TOO_LARGE || refusal == ERR_UNAUTHENTICATED) return true;
	return refusal == ERR_INVALID_REQUEST && !connection->is_unread && !connection->admin &&
	       !exchange_is_preflight(exchange, headers) && bearer_guards(exchange->path);
}

enum err exchange_begin(h2o_req_t *req, struct exchange **begun, struct request_headers *headers)
{
	struct http_thread *thread = thread_of(req);
	struct exchange    *exchange = h2o_mem_alloc_shared(&req->pool, sizeof *exchange, on_dispose);
	struct connection  *connection = connection_of(req);
	*exchange = (struct exchange){
	    .thread = thread, .connection = connection, .req = req, .begun = thread_now(thread)};
	exchange->without_body = h2o_memis(req->method.base, req->method.len, H2O_STRLIT("HEAD"));
	thread->in_flight++;
	thread->last_request = exchange->begun;
	read_headers(req, headers);
	/* h2o looks for `keep-alive` only: it would close after `Connection: Upgrade, HTTP2-Settings`, and not after
	 * `keep-alive, close`. */
	if (headers->closes)
		req->http1_is_persistent = 0;
	else if (req->version >= 0x101)
		req->http1_is_persistent = 1;
	read_target(exchange);
	exchange->id = choose_id(exchange, headers->request_id);
	if (cors_allows(thread_options(thread), headers->origin)) exchange->origin = headers->origin;
	*begun = exchange;
	if (!connection->refusal) return OK;
	req->http1_is_persistent = 0; /* the start of the next request is ambiguous */
	if (other_errors_come_first(exchange, headers)) return OK;
	answer_error(exchange, connection->refusal, nothing, span_str(thread->refusal.message));
	return connection->refusal;
}

/* --- calls --- */

enum err exchange_call(struct exchange *exchange, struct call *head, struct buffer **arguments)
{
	struct http_thread *thread = exchange->thread;
	head->deadline = mono_after(thread_now(thread), (dur_us){CALL_DEADLINE_MS * US_PER_MS});
	head->request_id = exchange->id;
	exchange->has_account = head->has_account;
	exchange->has_key = head->has_key_hash;
	exchange->account = head->account;
	exchange->shard = slot_shard(account_slot(head->account), thread->service->shards);
	return thread_call(thread, &exchange->pending, exchange->shard, head, arguments);
}

enum err exchange_ask(struct exchange *exchange, struct call *head,
                      void (*on_reply)(struct pending *pending, const struct reply *reply),
                      uint32_t arguments, msgpack_packer *packer)
{
	struct buffer *buffer;
	exchange->pending.on_reply = on_reply;
	enum err err = exchange_call(exchange, head, &buffer);
	if (err) return err;
	*packer = buffer_packer(buffer);
	msgpack_pack_array(packer, arguments);
	return OK;
}

void exchange_send(struct exchange *exchange)
{
	pending_send(&exchange->pending);
}

void exchange_abort(struct exchange *exchange)
{
	pending_abort(&exchange->pending);
}

void exchange_heard(struct exchange *exchange, const struct reply *reply)
{
	if (!reply->key_id) return;
	exchange->has_key_id = true;
	exchange->key_id = *reply->key_id;
}
