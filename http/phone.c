/* The web service of Apple's wallet, step by step: does this server have wallets? Is there such a path? Is the token that of the
 * serial number's pass? Only then is the body read and the account's shard asked. All refusals of a token are the same answer, so
 * that a stranger learns nothing of accounts and passes.
 *
 * Whether there are wallets is asked of a shard until it says so; then it stays. */
#include "http/phone.h"

#include "http/answer.h"
#include "http/google.h"
#include "http/no_route.h"
#include "http/phone_parts.h"
#include "http/wallet.h"
#include "http/wallet_site.h"
#include "schemas/api/phone.h"

static const struct span nothing = {NULL, 0};

/* A request, in the pool while a shard is asked whether there are wallets. */
struct phone {
	struct exchange *exchange; /* pending.on_reply gets the exchange alone */
	struct span      authorization, body, if_modified_since;
	unsigned         authorizations;
	bool             is_too_large; /* its body */
};

/* What the path says, decoded. */
struct named {
	struct account_id account;
	bool              has_account;
	struct span       text[ROUTE_PARAMS_MAX];
	uint8_t           token[WALLET_TOKEN_BYTES]; /* of the link, by the serial number */
};
enum { AT_ACCOUNT, AT_DEVICE, AT_TYPE, AT_SERIAL };
enum { AT_PASS_TYPE = 1, AT_PASS_SERIAL }; /* below /passes/ */

/* Answers ------------------------------------------------------------------------------------------------- */

static void refuse_token(struct exchange *exchange)
{
	static const char message[] = "The authentication token of the pass is required.";
	answer_error(exchange, ERR_UNAUTHENTICATED, nothing, span_str(message));
}

static void refuse_input(struct exchange *exchange, const char *message)
{
	answer_error(exchange, ERR_INVALID_REQUEST, nothing, span_str(message));
}

static void answer_list(struct exchange *exchange, const msgpack_object *payload)
{
	const struct service *service = exchange->thread->service;
	struct buffer        *body = &exchange->thread->body;
	const msgpack_object *items = payload->via.array.ptr;
	bool                  good = payload->type == MSGPACK_OBJECT_ARRAY && payload->via.array.size == 2 &&
	            items[0].type == MSGPACK_OBJECT_STR && items[1].type == MSGPACK_OBJECT_BIN;
	if (!good) {
		answer_error(exchange, ERR_MALFORMED, nothing, nothing);
		return;
	}
	struct span tokens = arg_span(&items[1]);
	char        serial[WALLET_SERIAL_TEXT];
	buffer_clear(body);
	buffer_text(body, "{\"serialNumbers\":[");
	for (size_t at = 0; at + WALLET_TOKEN_BYTES <= tokens.size; at += WALLET_TOKEN_BYTES) {
		wallet_serial_text(&service->serials, tokens.at + at, serial);
		buffer_text(body, at ? ",\"" : "\"");
		buffer_text(body, serial);
		buffer_byte(body, '"');
	}
	buffer_text(body, "],\"lastUpdated\":");
	json_quote(arg_span(&items[0]), body);
	buffer_byte(body, '}');
	enum err err = body->failed ? ERR_NO_MEMORY
	                            : connection_charge_answer(exchange->connection, body->size);
	if (err)
		answer_error(exchange, err, nothing, nothing);
	else
		answer_text(exchange, 200, "application/json", buffer_span(body));
}

/* An account that is not there has no pass and no phone; a client that asks for a list or writes to its log learns no more. */
static bool is_of_nobody(enum err err)
{
	return err == ERR_RESOURCE_NOT_FOUND || err == ERR_UNAUTHENTICATED;
}

static void on_reply(struct pending *pending, const struct reply *reply)
{
	struct exchange *exchange = (struct exchange *)pending;
	enum message     message = exchange->route->message;
	bool             has_token = message == MSG_WALLET_REGISTER || message == MSG_WALLET_UNREGISTER;
	exchange_heard(exchange, reply);
	if (has_token && is_of_nobody(reply->err))
		refuse_token(exchange);
	else if (reply->err && !is_of_nobody(reply->err))
		answer_error(exchange, reply->err, nothing, nothing);
	else if (message == MSG_WALLET_LIST && !reply->err && reply->payload->type != MSGPACK_OBJECT_NIL)
		answer_list(exchange, reply->payload);
	else if (message == MSG_WALLET_LIST)
		answer_empty(exchange, 204);
	else if (message == MSG_WALLET_REGISTER && arg_boolean(reply->payload, false))
		answer_empty(exchange, 201);
	else
		answer_empty(exchange, 200);
}

/* Calls --------------------------------------------------------------------------------------------------- */

/* Begins the call of the route's message with the parts of the path; *packer is for the rest of the arguments. */
static enum err begin_call(struct exchange *exchange, const struct named *named, uint32_t parts,
                           uint32_t arguments, msgpack_packer *packer)
{
	struct call head = {
	    .message = exchange->route->message, .has_account = true, .account = named->account};
	enum err err = exchange_ask(exchange, &head, on_reply, arguments, packer);
	for (uint32_t i = 0; !err && i < parts; i++)
		pack_str(packer, named->text[i]);
	return err;
}

/* Is it the token of the pass that the path names, in the account that it names? */
static bool is_entitled(const struct phone *phone, struct named *named, struct span serial)
{
	const struct service *service = phone->exchange->thread->service;
	struct account_id     account;
	uint32_t              number;
	bool                  is_pass = wallet_serial_read(&service->serials, serial, named->token) &&
	               token_read(&service->tokens, named->token, &account, &number);
	bool is_token = wallet_auth_is(&service->serials, named->token, phone_auth_of(phone->authorization));
	return phone->authorizations == 1 && named->has_account && is_pass && is_token &&
	       account_same(account, named->account);
}

static enum err ask_registration(const struct phone *phone, struct named *named)
{
	struct exchange *exchange = phone->exchange;
	bool             registers = exchange->route->message == MSG_WALLET_REGISTER;
	struct span      push_token = nothing;
	msgpack_packer   pk;
	if (!is_entitled(phone, named, named->text[AT_SERIAL])) return ERR_UNAUTHENTICATED;
	if (phone->is_too_large) return ERR_PAYLOAD_TOO_LARGE;
	if (!phone_device_is_good(named->text[AT_DEVICE])) return ERR_INVALID_REQUEST;
	enum err err = registers
	                   ? phone_push_token_of(phone->body, &exchange->thread->memory.arena, &push_token)
	                   : OK;
	if (err) return err;
	err = begin_call(exchange, named, AT_SERIAL + 1,
	                 registers ? ARGS_WALLET_REGISTER : ARGS_WALLET_UNREGISTER, &pk);
	if (err) return err;
	pack_bin(&pk, span_of(named->token, sizeof named->token));
	if (registers) pack_str(&pk, push_token);
	exchange_send(exchange);
	return OK;
}

static void refuse_pass(struct exchange *exchange, enum err err)
{
	if (is_of_nobody(err))
		refuse_token(exchange);
	else
		answer_error(exchange, err, nothing, nothing);
}

/* The second since 1970 that an If-Modified-Since names; -1: none that can be read. */
static int64_t since_of(struct span date)
{
	struct tm tm = {0};
	if (date.size != H2O_TIMESTR_RFC1123_LEN ||
	    h2o_time_parse_rfc1123((const char *)date.at, date.size, &tm))
		return -1;
	return timegm(&tm);
}

static enum err ask_pass(const struct phone *phone, struct named *named)
{
	struct exchange *exchange = phone->exchange;
	struct call      head = {.has_account = true, .account = named->account};
	struct span     *text = named->text;
	if (!is_entitled(phone, named, text[AT_PASS_SERIAL])) return ERR_UNAUTHENTICATED;
	const struct wallet_wish wish = {.account = text[AT_ACCOUNT],
	                                 .type = text[AT_PASS_TYPE],
	                                 .serial = text[AT_PASS_SERIAL],
	                                 .token = named->token,
	                                 .since_s = since_of(phone->if_modified_since),
	                                 .refuse = refuse_pass};
	return wallet_ask_pass(exchange, &head, &wish);
}

static enum err ask_list(const struct phone *phone, const struct named *named)
{
	struct exchange *exchange = phone->exchange;
	struct span      tag = phone_tag_of(exchange->query, &exchange->thread->memory.arena);
	msgpack_packer   pk;
	if (!phone_device_is_good(named->text[AT_DEVICE])) return ERR_INVALID_REQUEST;
	enum err err = begin_call(exchange, named, AT_TYPE + 1, ARGS_WALLET_LIST, &pk);
	if (err) return err;
	if (tag.size)
		pack_str(&pk, tag);
	else
		msgpack_pack_nil(&pk);
	exchange_send(exchange);
	return OK;
}

static enum err ask_log(const struct phone *phone, const struct named *named)
{
	struct exchange   *exchange = phone->exchange;
	const struct json *logs, *line;
	msgpack_packer     pk;
	uint32_t           count = 0, left_out;
	if (phone->is_too_large) return ERR_PAYLOAD_TOO_LARGE;
	enum err err = phone_logs_of(phone->body, &exchange->thread->memory.arena, &logs);
	if (err) return err;
	if (!named->has_account) return ERR_RESOURCE_NOT_FOUND;
	if ((err = begin_call(exchange, named, AT_ACCOUNT + 1, ARGS_WALLET_PHONE_LOG, &pk))) return err;
	for (line = logs->child; line; line = line->next)
		count += line->kind == JSON_STRING;
	left_out = count > PHONE_LOG_LINES_MAX ? count - PHONE_LOG_LINES_MAX : 0; /* the oldest */
	msgpack_pack_array(&pk, count - left_out);
	for (line = logs->child; line; line = line->next)
		if (line->kind == JSON_STRING && (left_out == 0 || !left_out--)) pack_str(&pk, line->text);
	exchange_send(exchange);
	return OK;
}

/* The path ------------------------------------------------------------------------------------------------ */

static enum err ask_callback(const struct phone *phone, const struct named *named)
{
	const struct call head = {.has_account = true, .account = named->account};
	if (phone->is_too_large) return ERR_PAYLOAD_TOO_LARGE;
	if (!named->has_account) return ERR_INVALID_REQUEST;
	return google_ask_callback(phone->exchange, &head, named->text[AT_ACCOUNT], phone->body);
}

static bool read_path(const struct exchange *exchange, const struct route_match *match, struct named *named)
{
	*named = (struct named){.has_account = false};
	named->has_account = phone_account_of(exchange->path, &named->account);
	for (unsigned i = 0; i < ROUTE_PARAMS_MAX && match->params[i].at; i++)
		if (!phone_decode(match->params[i], false, &exchange->thread->memory.arena,
		                  &named->text[i]) ||
		    !utf8_is_valid(named->text[i]))
			return false;
	return true;
}

static enum err ask(const struct phone *phone, const struct route_match *match)
{
	struct named named;
	bool         is_read = read_path(phone->exchange, match, &named);
	switch (match->route->message) {
	case MSG_WALLET_LIST:
		if (is_read && !named.has_account) return ERR_RESOURCE_NOT_FOUND;
		return is_read ? ask_list(phone, &named) : ERR_INVALID_REQUEST;
	case MSG_WALLET_GOOGLE_CHECK: return ask_callback(phone, &named);
	case MSG_WALLET_PHONE_LOG: return ask_log(phone, &named);
	case MSG_WALLET_PASS: return is_read ? ask_pass(phone, &named) : ERR_UNAUTHENTICATED;
	default: return is_read ? ask_registration(phone, &named) : ERR_UNAUTHENTICATED;
	}
}

static void go_on(const struct phone *phone)
{
	struct exchange   *exchange = phone->exchange;
	const h2o_req_t   *req = exchange->req;
	struct route_match match;
	enum err err = route_find(span_of(req->method.base, req->method.len), exchange->path, &match);
	arena_reset(&exchange->thread->memory.arena);
	exchange->route = match.route;
	exchange->allow = match.allow;
	exchange->origin = nothing; /* CORS covers the interface only */
	if (err) {
		no_route_answer(exchange, err);
		return;
	}
	err = ask(phone, &match);
	if (!err) {
		connection_hold(exchange->connection);
	} else if (err == ERR_UNAUTHENTICATED) {
		refuse_token(exchange);
	} else if (err == ERR_INVALID_REQUEST) {
		refuse_input(exchange, "The path, or the body, is not as the wallet sends it.");
	} else if (err == ERR_RESOURCE_NOT_FOUND) {
		answer_empty(exchange, match.route->message == MSG_WALLET_LIST ? 204 : 200);
	} else {
		answer_error(exchange, err, nothing, nothing);
	}
}

/* Wallets ------------------------------------------------------------------------------------------------- */

static void on_kinds(struct pending *pending, const struct reply *reply)
{
	struct exchange *exchange = (struct exchange *)pending;
	unsigned         kinds = wallet_kinds_of(exchange, reply);
	if (reply->err)
		answer_error(exchange, reply->err, nothing, nothing);
	else if (kinds & WALLET_BIT(phone_wallet_at(exchange->path)))
		go_on(exchange->phone);
	else
		no_route_answer(exchange, ERR_ROUTE_NOT_FOUND);
}

static enum err ask_kinds(const struct phone *phone)
{
	struct exchange *exchange = phone->exchange;
	exchange->phone = h2o_mem_alloc_pool(&exchange->req->pool, sizeof *exchange->phone);
	*exchange->phone = *phone;
	exchange->phone->authorization = exchange_keep(exchange, phone->authorization);
	exchange->phone->body = exchange_keep(exchange, phone->body);
	exchange->phone->if_modified_since = exchange_keep(exchange, phone->if_modified_since);
	return wallet_kinds_ask(exchange, on_kinds);
}

void phone_begin(struct exchange *exchange, const struct request_headers *headers)
{
	const struct phone phone = {.exchange = exchange,
	                            .authorization = headers->authorization,
	                            .authorizations = headers->authorizations,
	                            .body = connection_body(exchange->connection),
	                            .if_modified_since = headers->if_modified_since,
	                            .is_too_large = exchange->connection->refusal == ERR_PAYLOAD_TOO_LARGE};
	if (wallet_kinds_known(exchange) & WALLET_BIT(phone_wallet_at(exchange->path))) {
		go_on(&phone);
		return;
	}
	enum err err = ask_kinds(&phone);
	if (err)
		answer_error(exchange, err, nothing, nothing);
	else
		connection_hold(exchange->connection);
}
