/* Whether this server has wallets is known to every shard, and cannot be taken back: it is asked for until it is so, and then
 * remembered by the process. */
#include "http/wallet_site.h"

#include "http/answer.h"
#include "http/badges.h"
#include "http/no_route.h"
#include "schemas/api/wallet.h"
#include "schemas/wallet/icon.h"

static const char robots_path[] = "/robots.txt", root[] = "/wallet/", badges[] = "/wallet/badges/";
static const char logo_path[] =
    "/wallet/logo.png"; /* of classes at Google without one of their own: schemas/wallet/google_pass.c */

static bool begins(struct span path, const char *with)
{
	size_t size = strlen(with);
	return path.size >= size && !memcmp(path.at, with, size);
}

bool wallet_site_is_at(struct span path)
{
	return span_is(path, robots_path) || begins(path, root);
}

static bool is_robots(const struct exchange *exchange)
{
	return span_is(exchange->path, robots_path);
}

/* The badge that the path names; of size 0: none. */
static struct span badge_at(const struct exchange *exchange)
{
	struct span name = exchange->path;
	if (!begins(name, badges)) return span_of(NULL, 0);
	name = span_of(name.at + sizeof badges - 1, name.size - (sizeof badges - 1));
	for (unsigned kind = 1; kind < WALLET_KIND_END; kind++) {
		const char *word = wallet_kind_text(kind);
		size_t      size = strlen(word);
		if (name.size == size + 4 && !memcmp(name.at, word, size) &&
		    !memcmp(name.at + size, ".svg", 4))
			return badge_of(exchange->thread->service, (enum wallet_kind)kind);
	}
	return span_of(NULL, 0);
}

/* Google's robot obeys this file when it calls back. The pages of holders are in no index. */
static void answer_robots(struct exchange *exchange)
{
	static const char text[] = "User-agent: *\nAllow: /wallet/google/\nDisallow: /p/\n";
	answer_text(exchange, 200, "text/plain", span_str(text));
}

/* The operator's file may be any SVG: opened by itself, it runs and loads nothing. */
static void answer_badge(struct exchange *exchange, struct span badge)
{
	answer_header(exchange, "Cache-Control", span_str("public, max-age=3600"));
	answer_header(exchange, "Content-Security-Policy",
	              span_str("default-src 'none'; style-src 'unsafe-inline'; sandbox"));
	answer_header(exchange, "X-Content-Type-Options", span_str("nosniff"));
	answer_text(exchange, 200, "image/svg+xml", badge);
}

static void answer_logo(struct exchange *exchange)
{
	answer_header(exchange, "Cache-Control", span_str("public, max-age=86400"));
	answer_text(exchange, 200, "image/png", wallet_icons[WALLET_ICONS - 1].png);
}

/* The answer, given which wallets this server has. */
static void answer(struct exchange *exchange, unsigned kinds)
{
	struct span badge = badge_at(exchange);
	bool        robots = is_robots(exchange) && kinds & WALLET_BIT(WALLET_GOOGLE);
	bool        logo = span_is(exchange->path, logo_path) && kinds & WALLET_BIT(WALLET_GOOGLE);
	enum err    err = robots || logo || (kinds && badge.size) ? OK : ERR_ROUTE_NOT_FOUND;
	bool gets = h2o_memis(exchange->req->method.base, exchange->req->method.len, H2O_STRLIT("GET"));
	if (!err && !gets && !exchange->without_body) {
		exchange->allow = 1u << METHOD_GET;
		err = ERR_METHOD_NOT_ALLOWED;
	}
	if (!err && !robots) err = connection_charge_answer(exchange->connection, badge.size);
	if (err == ERR_OVERLOADED)
		answer_error(exchange, err, span_of(NULL, 0), span_of(NULL, 0));
	else if (err)
		no_route_answer(exchange, err);
	else if (robots)
		answer_robots(exchange);
	else if (logo)
		answer_logo(exchange);
	else
		answer_badge(exchange, badge);
}

unsigned wallet_kinds_known(const struct exchange *exchange)
{
	return atomic_load_explicit(&exchange->thread->service->wallet_kinds, memory_order_relaxed);
}

unsigned wallet_kinds_of(struct exchange *exchange, const struct reply *reply)
{
	unsigned kinds = reply->err ? 0 : (unsigned)arg_integer(reply->payload, 0) & WALLET_BITS_ALL;
	atomic_fetch_or_explicit(&exchange->thread->service->wallet_kinds, kinds, memory_order_relaxed);
	exchange_heard(exchange, reply);
	exchange->has_account = false;
	return kinds;
}

enum err wallet_kinds_ask(struct exchange *exchange,
                          void (*on_reply)(struct pending *pending, const struct reply *reply))
{
	struct call    head = {.message = MSG_WALLET_KINDS};
	msgpack_packer packer;
	enum err       err = exchange_ask(exchange, &head, on_reply, ARGS_WALLET_KINDS, &packer);
	if (err) return err;
	exchange_send(exchange);
	return OK;
}

/* A shard that does not answer leaves the path as it is on most servers. */
static void on_kinds(struct pending *pending, const struct reply *reply)
{
	struct exchange *exchange = (struct exchange *)pending;
	answer(exchange, wallet_kinds_of(exchange, reply));
}

void wallet_site_begin(struct exchange *exchange)
{
	unsigned kinds = wallet_kinds_known(exchange);
	bool     is_googles = is_robots(exchange) || span_is(exchange->path, logo_path);
	unsigned wanted = is_googles ? WALLET_BIT(WALLET_GOOGLE) : WALLET_BITS_ALL;
	exchange->origin = span_of(NULL, 0); /* CORS covers the interface only */
	if (kinds & wanted)
		answer(exchange, kinds);
	else if (wallet_kinds_ask(exchange, on_kinds))
		answer(exchange, 0);
	else
		connection_hold(exchange->connection);
}
