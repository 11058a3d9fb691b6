/* Sends packages. The shard makes three small files for each and names a kit, which is the pictures as finished parts of the
 * archive. A kit that is not here is asked for once, in parts, and kept. The answer is sent from the kit itself, between the
 * parts that are new; HEAD needs only its sizes. */
#include "http/wallet.h"

#include "http/answer.h"
#include "http/kits.h"
#include "http/page_answer.h"
#include "schemas/api/phone.h"
#include "schemas/api/wallet.h"
#include "schemas/wallet/package_reply.h"

enum { PIECES = 4 };

/* An answer in the making, in the request's pool. */
struct wallet_answer {
	struct span          text; /* of the token, in the page's address; size 0: a phone asks */
	uint8_t              token[TOKEN_BYTES];
	struct wallet_wish   wish; /* of a phone */
	wallet_or_else       or_else;
	bool                 asked_again;
	struct package_reply reply;  /* its bytes are in the pool, too */
	struct kit          *kit;    /* NULL: not here yet */
	size_t               filled; /* of a kit that arrives */
};

static void on_dispose(void *memory)
{
	struct wallet_answer *answer = memory;
	kit_leave(&answer->kit);
}

static bool is_for_phone(const struct exchange *exchange)
{
	return exchange->wallet->wish.refuse;
}

static void refuse(struct exchange *exchange, enum err err)
{
	if (is_for_phone(exchange))
		exchange->wallet->wish.refuse(exchange, err);
	else
		page_refuse(exchange, err);
}

/* ---- the answer ---- */

static void add_modified(struct exchange *exchange, uint32_t second)
{
	char      text[H2O_TIMESTR_RFC1123_LEN + 1];
	time_t    at = second;
	struct tm tm;
	gmtime_r(&at, &tm);
	h2o_time2str_rfc1123(text, &tm);
	answer_header(exchange, "Last-Modified", span_of(text, H2O_TIMESTR_RFC1123_LEN));
}

static void add_headers(struct exchange *exchange)
{
	static const struct page_header headers[] = {
	    {"Content-Disposition", "attachment"},
	    {"Cache-Control", "private, no-cache"},
	};
	page_headers(exchange, headers, sizeof headers / sizeof *headers);
	if (exchange->wallet->or_else) answer_header(exchange, "Vary", span_str(WALLET_VARY));
	if (exchange->wallet->reply.modified_s) add_modified(exchange, exchange->wallet->reply.modified_s);
}

static h2o_iovec_t copy(struct exchange *exchange, const struct buffer *bytes)
{
	return h2o_strdup(&exchange->req->pool, (const char *)bytes->at, bytes->size);
}

static void send_package(struct exchange *exchange)
{
	struct wallet_answer       *answer = exchange->wallet;
	const struct package_reply *reply = &answer->reply;
	const struct kit           *kit = answer->kit;
	struct buffer               between = {0}, behind = {0};
	h2o_iovec_t                 pieces[PIECES];
	size_t                      size = (size_t)package_size(&reply->kit, &reply->own), count = 0;
	package_write(&reply->kit, &reply->own, &between, &behind);
	if (kit && !between.failed && !behind.failed) {
		pieces[count++] = h2o_iovec_init(kit->bytes, kit->is.local_size);
		pieces[count++] = copy(exchange, &between);
		pieces[count++] = h2o_iovec_init(kit->bytes + kit->is.local_size, kit->is.central_size);
		pieces[count++] = copy(exchange, &behind);
	}
	bool is_whole = count || exchange->without_body;
	buffer_free(&between);
	buffer_free(&behind);
	if (!is_whole) {
		refuse(exchange, ERR_NO_MEMORY);
		return;
	}
	add_headers(exchange);
	answer_pieces(exchange, WALLET_PACKAGE_TYPE, pieces, count, size);
}

/* ---- a kit that is not here ---- */

static void refuse_call(struct exchange *exchange, enum err err)
{
	pending_forget(&exchange->pending);
	refuse(exchange, err);
}

/* Asks once more, as before. */
static enum err ask(struct exchange *exchange, struct call *head);

static bool take_part(struct wallet_answer *answer, const msgpack_object *payload)
{
	struct kit *kit = answer->kit;
	struct span part = arg_span(payload);
	size_t      size = kit->is.local_size + kit->is.central_size;
	if (payload->type != MSGPACK_OBJECT_BIN || part.size > size - answer->filled) return false;
	if (part.size) memcpy(kit->bytes + answer->filled, part.at, part.size);
	answer->filled += part.size;
	return true;
}

static void on_kit(struct pending *pending, const struct reply *reply)
{
	struct exchange      *exchange = (struct exchange *)pending;
	struct wallet_answer *answer = exchange->wallet;
	bool                  more = reply->flags & REPLY_MORE;
	/* The pictures have changed since: the package that shows the new ones is asked for once. */
	if (reply->err == ERR_RESOURCE_NOT_FOUND && !answer->asked_again) {
		struct call head = {.has_account = true, .account = exchange->account};
		kit_leave(&answer->kit);
		answer->asked_again = true;
		enum err err = ask(exchange, &head);
		if (err) refuse(exchange, err);
		return;
	}
	if (reply->err) {
		refuse_call(exchange, reply->err == ERR_RESOURCE_NOT_FOUND ? ERR_OVERLOADED : reply->err);
		return;
	}
	if (!take_part(answer, reply->payload)) {
		refuse_call(exchange, ERR_MALFORMED);
		return;
	}
	if (more) return;
	if (answer->filled != answer->kit->is.local_size + answer->kit->is.central_size) {
		refuse(exchange, ERR_MALFORMED);
		return;
	}
	kits_add(exchange->thread->service->kits, answer->kit);
	send_package(exchange);
}

static enum err ask_kit(struct exchange *exchange)
{
	struct wallet_answer *answer = exchange->wallet;
	struct call    head = {.message = MSG_WALLET_KIT, .has_account = true, .account = exchange->account};
	msgpack_packer pk;
	if (!(answer->kit = kit_new(&answer->reply.kit))) return ERR_NO_MEMORY;
	answer->filled = 0;
	enum err err = exchange_ask(exchange, &head, on_kit, ARGS_WALLET_KIT, &pk);
	if (err) return err;
	pack_bin(&pk, span_of(answer->token, sizeof answer->token));
	pack_bin(&pk, span_of(answer->reply.kit.hash, SHA256_BYTES));
	exchange_send(exchange);
	return OK;
}

/* ---- the shard's word ---- */

static enum err take_package(struct exchange *exchange, const struct package_reply *reply)
{
	struct wallet_answer *answer = exchange->wallet;
	answer->reply = *reply;
	answer->reply.own = (struct package_own){exchange_keep(exchange, reply->own.pass_json),
	                                         exchange_keep(exchange, reply->own.manifest),
	                                         exchange_keep(exchange, reply->own.signature)};
	size_t   size = (size_t)package_size(&reply->kit, &reply->own);
	enum err err = answer->asked_again ? OK : connection_charge_answer(exchange->connection, size);
	if (err) return err;
	if (!exchange->without_body) {
		answer->kit = kits_find(exchange->thread->service->kits, reply->kit.hash);
		if (!answer->kit) return ask_kit(exchange);
	}
	send_package(exchange);
	return OK;
}

/* Nobody on this server has ever had a wallet: the answer is the one that there was without any. */
static enum err answer_as_ever(struct exchange *exchange)
{
	struct call head = {.has_account = true, .account = exchange->account};
	if (exchange->wallet->or_else)
		return exchange->wallet->or_else(exchange, &head, exchange->wallet->text);
	exchange->route = route_row(ROUTE_PASS_IMAGE);
	return ERR_RESOURCE_NOT_FOUND;
}

static void on_package(struct pending *pending, const struct reply *reply)
{
	struct exchange     *exchange = (struct exchange *)pending;
	struct package_reply package = {.fate = PACKAGE_LATER};
	enum err             err = reply->err ? reply->err : package_reply_open(reply->payload, &package);
	if (!err && package.fate == PACKAGE_NEVER) {
		if ((err = answer_as_ever(exchange))) page_refuse(exchange, err);
		return;
	}
	exchange->route = route_row(ROUTE_WALLET_PACKAGE);
	if (!err && package.fate == PACKAGE_MADE) err = take_package(exchange, &package);
	if (!err && package.fate == PACKAGE_LATER) err = ERR_OVERLOADED;
	if (err)
		page_refuse(exchange, err);
	else if (package.fate == PACKAGE_FORBIDDEN)
		page_refuse_as(exchange, 403);
}

/* A phone's answer: of fates but these two there are none, or they are errors. */
static void on_pass(struct pending *pending, const struct reply *reply)
{
	struct exchange     *exchange = (struct exchange *)pending;
	struct package_reply package = {.fate = PACKAGE_LATER};
	enum err             err = reply->err ? reply->err : package_reply_open(reply->payload, &package);
	exchange_heard(exchange, reply);
	if (!err && package.fate == PACKAGE_MADE) err = take_package(exchange, &package);
	if (!err && package.fate == PACKAGE_LATER) err = ERR_OVERLOADED;
	if (!err && package.fate == PACKAGE_OFF) err = ERR_ROUTE_NOT_FOUND;
	if (err)
		refuse(exchange, err);
	else if (package.fate != PACKAGE_MADE)
		answer_empty(exchange, 304);
}

static enum err ask_pass(struct exchange *exchange, struct call *head)
{
	const struct wallet_wish *wish = &exchange->wallet->wish;
	msgpack_packer            pk;
	head->message = MSG_WALLET_PASS;
	enum err err = exchange_ask(exchange, head, on_pass, ARGS_WALLET_PASS, &pk);
	if (err) return err;
	pack_str(&pk, wish->account);
	pack_str(&pk, wish->type);
	pack_str(&pk, wish->serial);
	pack_bin(&pk, span_of(exchange->wallet->token, sizeof exchange->wallet->token));
	if (wish->since_s < 0)
		msgpack_pack_nil(&pk);
	else
		msgpack_pack_int64(&pk, wish->since_s);
	exchange_send(exchange);
	return OK;
}

static enum err ask(struct exchange *exchange, struct call *head)
{
	msgpack_packer pk;
	if (is_for_phone(exchange)) return ask_pass(exchange, head);
	head->message = MSG_WALLET_PACKAGE;
	enum err err = exchange_ask(exchange, head, on_package, ARGS_WALLET_PACKAGE, &pk);
	if (err) return err;
	pack_str(&pk, exchange->wallet->text);
	exchange_send(exchange);
	return OK;
}

static struct wallet_answer *answer_new(struct exchange *exchange)
{
	exchange->wallet = h2o_mem_alloc_shared(&exchange->req->pool, sizeof *exchange->wallet, on_dispose);
	*exchange->wallet = (struct wallet_answer){.or_else = NULL};
	return exchange->wallet;
}

enum err wallet_ask_package(struct exchange *exchange, const struct call *account, struct span token,
                            wallet_or_else or_else)
{
	struct call           head = *account;
	struct wallet_answer *answer = answer_new(exchange);
	answer->text = token;
	answer->or_else = or_else;
	if (!token_text_read(token, answer->token)) return ERR_RESOURCE_NOT_FOUND;
	return ask(exchange, &head);
}

enum err wallet_ask_pass(struct exchange *exchange, const struct call *account,
                         const struct wallet_wish *wish)
{
	struct call           head = *account;
	struct wallet_answer *answer = answer_new(exchange);
	answer->wish = *wish;
	answer->wish.account = exchange_keep(exchange, wish->account);
	answer->wish.type = exchange_keep(exchange, wish->type);
	answer->wish.serial = exchange_keep(exchange, wish->serial);
	memcpy(answer->token, wish->token, sizeof answer->token);
	return ask(exchange, &head);
}
