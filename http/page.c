/* The page of a pass, step by step. The token names account and pass, so a wrong one is refused here and costs no shard
 * anything. The shard returns the pass, and card.c renders it. The link is sufficient, even while the account is suspended.
 * Refusals are small pages too. A client that names the type of Apple's packages gets one of these (wallet.c). */
#include "http/page.h"
#include "http/answer.h"
#include "http/badges.h"
#include "http/card.h"
#include "http/page_answer.h"
#include "http/google.h"
#include "http/wallet.h"
#include "schemas/api/link.h"
#include "schemas/lines.h"

static const struct span nothing = {NULL, 0};

bool page_is_at(struct span path)
{
	return path.size >= 3 && memcmp(path.at, "/p/", 3) == 0;
}

/* The token in the path of a page that was found. */
static struct span link_of(const struct exchange *exchange)
{
	return span_of(exchange->path.at + 3, exchange->path.size - 3);
}

static void answer_page(struct exchange *exchange, const struct reply *reply)
{
	struct http_thread *thread = exchange->thread;
	struct pass_view    shown;
	struct card_hashes  hashes;
	buffer_clear(&thread->body);
	arena_reset(&thread->memory.arena);
	const struct card_reader reader = {
	    .link = link_of(exchange),
	    .agent = exchange->agent,
	    .badges = {[WALLET_APPLE] = badge_of(thread->service, WALLET_APPLE).size,
	               [WALLET_GOOGLE] = badge_of(thread->service, WALLET_GOOGLE).size}};
	enum err err = pass_view_open(reply->payload, &shown);
	if (!err) err = card_render(&shown, &reader, &thread->memory.arena, &thread->body, &hashes);
	if (!err) err = connection_charge_answer(exchange->connection, thread->body.size);
	if (!err && shown.wallets) answer_header(exchange, "Vary", span_str(WALLET_VARY));
	if (err)
		page_refuse(exchange, err);
	else
		page_send(exchange, exchange->route->status, buffer_span(&thread->body), &hashes);
	arena_reset(&thread->memory.arena);
}

/* Proxies do not store the image; the client stores it but revalidates it each time. */
static void add_image_headers(struct exchange *exchange, const char *tag)
{
	static const struct page_header headers[] = {
	    {"Cache-Control", "private, no-cache"},
	    {"Content-Security-Policy", "default-src 'none'; sandbox"},
	};
	answer_header(exchange, "ETag", span_str(tag));
	page_headers(exchange, headers, sizeof headers / sizeof *headers);
}

/* The front of a large image: bytes alone. */
static enum err keep_front(struct exchange *exchange, const msgpack_object *payload)
{
	bool     good = payload->type == MSGPACK_OBJECT_BIN && payload->via.bin.size;
	enum err err = good ? answer_part(exchange, arg_span(payload)) : ERR_MALFORMED;
	if (err) pending_forget(&exchange->pending);
	return err;
}

/* The hash and the rest of the bytes, or nil if the client has them. */
static void answer_image(struct exchange *exchange, const struct reply *reply)
{
	const msgpack_object *payload = reply->payload, *items = payload->via.array.ptr;
	char                  tag[1 + 2 * SHA256_BYTES + 1 + 1];
	bool                  good = payload->type == MSGPACK_OBJECT_ARRAY && payload->via.array.size == 2 &&
	            items[0].type == MSGPACK_OBJECT_BIN && items[0].via.bin.size == SHA256_BYTES;
	bool     known = good && items[1].type == MSGPACK_OBJECT_NIL;
	enum err err = known || (good && items[1].type == MSGPACK_OBJECT_BIN) ? OK : ERR_MALFORMED;
	if (!err && !known && items[1].via.bin.size) err = answer_part(exchange, arg_span(&items[1]));
	if (err) {
		page_refuse(exchange, err);
		return;
	}
	tag[0] = '"';
	hex_text(arg_span(&items[0]).at, SHA256_BYTES, tag + 1);
	memcpy(tag + 1 + 2 * SHA256_BYTES, "\"", 2);
	add_image_headers(exchange, tag);
	if (known)
		answer_empty(exchange, 304);
	else
		answer_parts(exchange, exchange->route->status, "image/png");
}

static void on_reply(struct pending *pending, const struct reply *reply)
{
	struct exchange *exchange = (struct exchange *)pending;
	enum err         err = reply->err;
	if (!err && reply->flags & REPLY_MORE && !(err = keep_front(exchange, reply->payload))) return;
	if (err)
		page_refuse(exchange, err);
	else if (exchange->route->answer == ANSWER_PAGE)
		answer_page(exchange, reply);
	else
		answer_image(exchange, reply);
}

/* The account that the token names. A few in 65,536 forged tokens pass; the shard then finds no such pass. Errors:
 * ERR_RESOURCE_NOT_FOUND. */
static enum err read_token(const struct exchange *exchange, struct span text, struct call *head)
{
	uint8_t  token[TOKEN_BYTES];
	uint32_t number;
	head->has_account = true;
	if (!token_text_read(text, token)) return ERR_RESOURCE_NOT_FOUND;
	return token_read(&exchange->thread->service->tokens, token, &head->account, &number)
	           ? OK
	           : ERR_RESOURCE_NOT_FOUND;
}

/* The first of our tags in an If-None-Match, which may list several; a weak one counts too. False: none. */
static bool read_tag(struct span text, uint8_t hash[SHA256_BYTES])
{
	enum { DIGITS = 2 * SHA256_BYTES };
	for (size_t i = 0; i + DIGITS + 2 <= text.size; i++)
		if (text.at[i] == '"' && text.at[i + 1 + DIGITS] == '"' &&
		    hex_read(span_of(text.at + i + 1, DIGITS), hash, SHA256_BYTES))
			return true;
	return false;
}

static enum err ask_image(struct exchange *exchange, const struct route_match *match,
                          const struct request_headers *headers, struct call *head)
{
	uint8_t        hash[SHA256_BYTES];
	msgpack_packer packer;
	if (page_image_of(match->params[1]) == PAGE_IMAGES) return ERR_RESOURCE_NOT_FOUND;
	head->message = MSG_PASS_IMAGE;
	enum err err = exchange_ask(exchange, head, on_reply, ARGS_PASS_IMAGE, &packer);
	if (err) return err;
	pack_str(&packer, match->params[0]);
	pack_str(&packer, match->params[1]);
	if (read_tag(headers->if_none_match, hash))
		pack_bin(&packer, span_of(hash, sizeof hash));
	else
		msgpack_pack_nil(&packer);
	exchange_send(exchange);
	return OK;
}

static enum err ask_page(struct exchange *exchange, struct call *head, struct span token)
{
	msgpack_packer packer;
	head->message = MSG_PASS_PAGE;
	enum err err = exchange_ask(exchange, head, on_reply, ARGS_PASS_PAGE, &packer);
	if (err) return err;
	pack_str(&packer, token);
	exchange_send(exchange);
	return OK;
}

static enum err ask_shard(struct exchange *exchange, const struct route_match *match,
                          const struct request_headers *headers, struct call *head)
{
	bool is_page = match->route->message == MSG_PASS_PAGE;
	if (match->route->message == MSG_PASS_IMAGE) return ask_image(exchange, match, headers, head);
	if (match->route->message == MSG_WALLET_GOOGLE_LINK)
		return google_ask_link(exchange, head, match->params[0]);
	if (is_page && !headers->takes_package) return ask_page(exchange, head, match->params[0]);
	return wallet_ask_package(exchange, head, match->params[0], is_page ? ask_page : NULL);
}

void page_begin(struct exchange *exchange, const struct request_headers *headers)
{
	const h2o_req_t   *req = exchange->req;
	struct route_match match;
	struct call        head = {0};
	enum err err = route_find(span_of(req->method.base, req->method.len), exchange->path, &match);
	exchange->route = match.route;
	exchange->allow = match.allow;
	exchange->agent = agent_of(headers->user_agent);
	exchange->origin = nothing; /* CORS covers the interface only, never a page */
	/* The body is not used here, so a refused body only ends the connection. */
	if (!err) err = read_token(exchange, match.params[0], &head);
	if (!err) err = ask_shard(exchange, &match, headers, &head);
	if (err)
		page_refuse(exchange, err);
	else
		connection_hold(exchange->connection);
}
