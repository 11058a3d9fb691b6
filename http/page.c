/* The page of a pass, step by step. The token names account and pass, so a wrong one is refused here and costs no shard
 * anything. The shard returns the pass, and card.c renders it. The link is sufficient, even while the account is suspended.
 * Refusals are small pages too.
 *
 * Headers isolate the page: it loads and runs nothing from elsewhere, cannot be framed, sends no referrer, and is not cached
 * on the way. */
#include "http/page.h"
#include "http/answer.h"
#include "http/badges.h"
#include "http/card.h"
#include "schemas/api/pass.h"
#include "schemas/lines.h"

#include <stdio.h>

static const struct span nothing = {NULL, 0};

bool page_is_at(struct span path)
{
	return path.size >= 3 && memcmp(path.at, "/p/", 3) == 0;
}

struct header {
	const char *name, *value;
};

static const struct header of_all[] = {
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Robots-Tag", "noindex"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

static void add_headers(struct exchange *exchange, const struct header *headers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		answer_header(exchange, headers[i].name, span_str(headers[i].value));
}

static void send_page(struct exchange *exchange, int status, struct span html,
                      const struct card_hashes *hashes)
{
	static const struct header headers[] = {
	    {"Cache-Control", "private, no-store"},
	    {"X-DNS-Prefetch-Control",
	     "off"}, /* a link's host is not contacted before the link is followed */
	    {"Cross-Origin-Opener-Policy", "same-origin"},
	};
	char policy[288];
	int  size = snprintf(policy, sizeof policy,
	                     "default-src 'none'; style-src 'sha256-%s' 'sha256-%s'; %sbase-uri 'none'; "
	                      "form-action 'none'; frame-ancestors 'none'",
	                     hashes->text[0], hashes->text[1], hashes->has_images ? "img-src 'self'; " : "");
	must(size > 0 && (size_t)size < sizeof policy);
	answer_header(exchange, "Content-Security-Policy", span_of(policy, (size_t)size));
	add_headers(exchange, headers, sizeof headers / sizeof *headers);
	add_headers(exchange, of_all, sizeof of_all / sizeof *of_all);
	answer_text(exchange, status, "text/html; charset=utf-8", html);
}

static void refuse(struct exchange *exchange, enum err err)
{
	struct buffer     *body = &exchange->thread->body;
	struct card_hashes hashes;
	int                status = err_http(answer_shown(exchange, err));
	buffer_clear(body);
	card_refusal(status, body, &hashes);
	if (body->failed) { /* no memory for a page */
		answer_error(exchange, ERR_INTERNAL, nothing, nothing);
		return;
	}
	answer_error_headers(exchange, status);
	send_page(exchange, status, buffer_span(body), &hashes);
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
	if (!err && shown.wallets) answer_header(exchange, "Vary", span_str("Accept, User-Agent"));
	if (err)
		refuse(exchange, err);
	else
		send_page(exchange, exchange->route->status, buffer_span(&thread->body), &hashes);
	arena_reset(&thread->memory.arena);
}

/* Proxies do not store the image; the client stores it but revalidates it each time. */
static void add_image_headers(struct exchange *exchange, const char *tag)
{
	static const struct header headers[] = {
	    {"Cache-Control", "private, no-cache"},
	    {"Content-Security-Policy", "default-src 'none'; sandbox"},
	};
	answer_header(exchange, "ETag", span_str(tag));
	add_headers(exchange, headers, sizeof headers / sizeof *headers);
	add_headers(exchange, of_all, sizeof of_all / sizeof *of_all);
}

static void answer_image(struct exchange *exchange, const struct reply *reply)
{
	const msgpack_object *payload = reply->payload, *items = payload->via.array.ptr;
	char                  tag[1 + 2 * SHA256_BYTES + 1 + 1];
	bool                  good = payload->type == MSGPACK_OBJECT_ARRAY && payload->via.array.size == 2 &&
	            items[0].type == MSGPACK_OBJECT_BIN && items[0].via.bin.size == SHA256_BYTES;
	bool     known = good && items[1].type == MSGPACK_OBJECT_NIL;
	enum err err = known || (good && items[1].type == MSGPACK_OBJECT_BIN) ? OK : ERR_MALFORMED;
	if (!err && !known) err = connection_charge_answer(exchange->connection, arg_span(&items[1]).size);
	if (err) {
		refuse(exchange, err);
		return;
	}
	tag[0] = '"';
	hex_text(arg_span(&items[0]).at, SHA256_BYTES, tag + 1);
	memcpy(tag + 1 + 2 * SHA256_BYTES, "\"", 2);
	add_image_headers(exchange, tag);
	if (known)
		answer_empty(exchange, 304);
	else
		answer_text(exchange, exchange->route->status, "image/png", arg_span(&items[1]));
}

static void on_reply(struct pending *pending, const struct reply *reply)
{
	struct exchange *exchange = (struct exchange *)pending;
	if (reply->err)
		refuse(exchange, reply->err);
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

static void pack_arguments(const struct route_match *match, const struct request_headers *headers,
                           struct buffer *arguments)
{
	uint8_t        hash[SHA256_BYTES];
	msgpack_packer packer = buffer_packer(arguments);
	if (match->route->message == MSG_PASS_PAGE) {
		msgpack_pack_array(&packer, ARGS_PASS_PAGE);
		pack_str(&packer, match->params[0]);
		return;
	}
	msgpack_pack_array(&packer, ARGS_PASS_IMAGE);
	pack_str(&packer, match->params[0]);
	pack_str(&packer, match->params[1]);
	if (read_tag(headers->if_none_match, hash))
		pack_bin(&packer, span_of(hash, sizeof hash));
	else
		msgpack_pack_nil(&packer);
}

static enum err ask_shard(struct exchange *exchange, const struct route_match *match,
                          const struct request_headers *headers, struct call *head)
{
	struct buffer *arguments;
	head->message = match->route->message;
	exchange->pending.on_reply = on_reply;
	enum err err = exchange_call(exchange, head, &arguments);
	if (err) return err;
	pack_arguments(match, headers, arguments);
	exchange_send(exchange);
	return OK;
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
	if (!err && match.route->message == MSG_PASS_IMAGE && page_image_of(match.params[1]) == PAGE_IMAGES)
		err = ERR_RESOURCE_NOT_FOUND;
	if (!err) err = ask_shard(exchange, &match, headers, &head);
	if (err)
		refuse(exchange, err);
	else
		connection_hold(exchange->connection);
}
