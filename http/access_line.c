/* What the access log records of a request: what the client did and got, but no secrets and no holder's data. */
#include "http/access_log.h"
#include "actors/rt/log_line.h"
#include "actors/rt/time.h"
#include "schemas/date.h"
#include "schemas/ids.h"

static void put_who(struct log_line *line, const struct exchange *exchange, int status)
{
	char account[ACCOUNT_ID_TEXT], key[UUID_TEXT];
	bool known = exchange->has_account && status != 401;
	if (known) account_id_text(exchange->account, account);
	if (known)
		log_line_text(line, "account", span_str(account));
	else
		log_line_null(line, "account");
	if (exchange->has_key_id) uuid_text(exchange->key_id, key);
	if (exchange->has_key_id)
		log_line_text(line, "key_id", span_str(key));
	else
		log_line_null(line, "key_id");
}

/* The method of an unreadable head is unknown: h2o has seen a substitute. */
static void put_what(struct log_line *line, const struct exchange *exchange)
{
	h2o_iovec_t method = exchange->req->method;
	if (exchange->connection->is_unread)
		log_line_null(line, "method");
	else
		log_line_text(line, "method", span_of(method.base, method.len));
	if (exchange->route)
		log_line_text(line, "route", span_str(exchange->route->path));
	else
		log_line_null(line, "route");
}

void access_log_request(struct access_log *log, const struct exchange *exchange, int status, size_t size)
{
	struct log_line line;
	char            at[RFC3339_TEXT];
	if (!log || exchange->connection->admin) return;
	rfc3339_text(time_wall(), at);
	log_line_begin(&line, LOG_JSON);
	log_line_text(&line, "time", span_str(at));
	log_line_text(&line, "request_id", exchange->id);
	put_who(&line, exchange, status);
	put_what(&line, exchange);
	log_line_number(&line, "status", status);
	log_line_number(&line, "bytes", (int64_t)size);
	log_line_number(&line, "us", mono_since(time_mono(), exchange->begun).v);
	access_log_put(log, log_line_end(&line));
}
