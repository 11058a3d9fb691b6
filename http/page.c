/* The page of a pass, hop by hop: the token names account and pass, so that a wrong one is refused here and costs no
 * shard anything; the shard says what the pass is; card.c makes HTML of it. Whoever has the link may look, also while
 * the account is suspended. Refusals are small pages too.
 *
 * The page is shut off by its headers: it may load nothing, run nothing, be framed nowhere, and tells no other site where
 * it is; nobody on the way may keep it. */
#include "http/page.h"
#include "http/answer.h"
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

static void add_headers(struct request *request, const struct header *headers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		answer_header(request, headers[i].name, span_str(headers[i].value));
}

static void send_page(struct request *request, int status, struct span html, const struct card_hashes *hashes)
{
	static const struct header headers[] = {
	    {"Cache-Control", "private, no-store"},
	    {"X-DNS-Prefetch-Control", "off"}, /* a link's host hears nothing before somebody follows it */
	    {"Cross-Origin-Opener-Policy", "same-origin"},
	};
	char policy[288];
	int  size = snprintf(policy, sizeof policy,
	                     "default-src 'none'; style-src 'sha256-%s' 'sha256-%s'; %sbase-uri 'none'; "
	                      "form-action 'none'; frame-ancestors 'none'",
	                     hashes->text[0], hashes->text[1], hashes->has_images ? "img-src 'self'; " : "");
	must(size > 0 && (size_t)size < sizeof policy);
	answer_header(request, "Content-Security-Policy", span_of(policy, (size_t)size));
	add_headers(request, headers, sizeof headers / sizeof *headers);
	add_headers(request, of_all, sizeof of_all / sizeof *of_all);
	answer_text(request, status, "text/html; charset=utf-8", html);
}

static void refuse(struct request *request, enum err err)
{
	struct buffer     *body = &request->thread->body;
	struct card_hashes hashes;
	int                status = err_http(answer_shown(request, err));
	buffer_clear(body);
	card_refusal(status, body, &hashes);
	if (body->failed) { /* there is nothing left to say it with */
		answer_error(request, ERR_INTERNAL, nothing, nothing);
		return;
	}
	answer_error_headers(request, status);
	send_page(request, status, buffer_span(body), &hashes);
}

/* The token as it stands in the path of a page that was found. */
static struct span link_of(const struct request *request)
{
	struct span path, query;
	request_target(request->req, &path, &query);
	return span_of(path.at + 3, path.size - 3);
}

void page_answer(struct request *request, const struct reply *reply)
{
	struct http_thread *thread = request->thread;
	struct shown        shown;
	struct card_hashes  hashes;
	buffer_clear(&thread->body);
	arena_reset(&thread->memory.arena);
	enum err err = shown_open(reply->payload, &shown);
	if (!err) err = card_render(&shown, link_of(request), &thread->memory.arena, &thread->body, &hashes);
	if (!err) err = gate_charge_answer(request->gate, thread->body.size);
	if (err)
		refuse(request, err);
	else
		send_page(request, request->route->status, buffer_span(&thread->body), &hashes);
	arena_reset(&thread->memory.arena);
}

/* The bytes are kept by nobody on the way, and by the client for as long as we tell it each time that they are right. */
static void add_image_headers(struct request *request, const char *tag)
{
	static const struct header headers[] = {
	    {"Cache-Control", "private, no-cache"},
	    {"Content-Security-Policy", "default-src 'none'; sandbox"},
	};
	answer_header(request, "ETag", span_str(tag));
	add_headers(request, headers, sizeof headers / sizeof *headers);
	add_headers(request, of_all, sizeof of_all / sizeof *of_all);
}

void page_answer_image(struct request *request, const struct reply *reply)
{
	const msgpack_object *payload = reply->payload, *items = payload->via.array.ptr;
	char                  tag[1 + 2 * SHA256_BYTES + 1 + 1];
	bool                  good = payload->type == MSGPACK_OBJECT_ARRAY && payload->via.array.size == 2 &&
	            items[0].type == MSGPACK_OBJECT_BIN && items[0].via.bin.size == SHA256_BYTES;
	bool     known = good && items[1].type == MSGPACK_OBJECT_NIL;
	enum err err = known || (good && items[1].type == MSGPACK_OBJECT_BIN) ? OK : ERR_MALFORMED;
	if (!err && !known) err = gate_charge_answer(request->gate, arg_span(&items[1]).size);
	if (err) {
		refuse(request, err);
		return;
	}
	tag[0] = '"';
	hex_text(arg_span(&items[0]).at, SHA256_BYTES, tag + 1);
	memcpy(tag + 1 + 2 * SHA256_BYTES, "\"", 2);
	add_image_headers(request, tag);
	if (known)
		answer_empty(request, 304);
	else
		answer_text(request, request->route->status, "image/png", arg_span(&items[1]));
}

static void on_reply(struct pending *pending, const struct reply *reply)
{
	struct request *request = (struct request *)pending;
	if (reply->err)
		refuse(request, reply->err);
	else
		answer_reply(request, reply);
}

/* Whose pass does the token name? Of wrong ones that somebody made up a few in 65,536 get by; the shard then finds no
 * such pass. Errors: ERR_RESOURCE_NOT_FOUND. */
static enum err read_token(const struct request *request, struct span text, struct call *head)
{
	uint8_t  token[TOKEN_BYTES];
	uint32_t number;
	head->has_account = true;
	if (!token_text_read(text, token)) return ERR_RESOURCE_NOT_FOUND;
	return token_read(&request->thread->service->tokens, token, &head->account, &number)
	           ? OK
	           : ERR_RESOURCE_NOT_FOUND;
}

/* The first of our tags in an If-None-Match, which may have several; a weak one is as good. false: none. */
static bool read_tag(struct span text, uint8_t hash[SHA256_BYTES])
{
	enum { DIGITS = 2 * SHA256_BYTES };
	for (size_t i = 0; i + DIGITS + 2 <= text.size; i++)
		if (text.at[i] == '"' && text.at[i + 1 + DIGITS] == '"' &&
		    hex_read(span_of(text.at + i + 1, DIGITS), hash, SHA256_BYTES))
			return true;
	return false;
}

static void pack_arguments(const struct request *request, const struct route_match *match,
                           const struct request_headers *headers)
{
	uint8_t        hash[SHA256_BYTES];
	msgpack_packer packer = buffer_packer(&request->thread->arguments);
	buffer_clear(&request->thread->arguments);
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

static enum err ask_shard(struct request *request, struct call *head)
{
	head->message = request->route->message;
	request->pending.on_reply = on_reply;
	return request_ask(request, head);
}

void page_begin(struct request *request, const struct request_headers *headers)
{
	const h2o_req_t   *req = request->req;
	struct route_match match;
	struct call        head = {0};
	struct span        path, query;
	request_target(req, &path, &query);
	enum err err = route_find(span_of(req->method.base, req->method.len), path, &match);
	request->route = match.route;
	request->allow = match.allow;
	request->origin = nothing; /* scripts of other sites get the interface at most, and no page */
	/* Nobody reads a body here, so one that the gate would not take changes nothing but that the connection ends. */
	if (!err) err = read_token(request, match.params[0], &head);
	if (!err && match.route->message == MSG_PASS_IMAGE && shown_image_of(match.params[1]) == SHOWN_IMAGES)
		err = ERR_RESOURCE_NOT_FOUND;
	if (!err) {
		pack_arguments(request, &match, headers);
		err = ask_shard(request, &head);
	}
	if (err)
		refuse(request, err);
	else
		gate_hold(request->gate);
}
