/* Both are answered by a shard: the link is signed there, and the callback is checked there. A callback that is good comes back as a
 * ticket, with which the shard's writer is asked to apply it. */
#include "http/google.h"

#include "http/answer.h"
#include "http/page_answer.h"
#include "schemas/api/google.h"

static const struct span nothing = {NULL, 0};

/* The link ------------------------------------------------------------------------------------------------ */

static void redirect(struct exchange *exchange, struct span link)
{
	static const struct page_header headers[] = {
	    {"Cache-Control", "no-store"},
	};
	page_headers(exchange, headers, sizeof headers / sizeof *headers);
	answer_header(exchange, "Location", link);
	answer_empty(exchange, 303);
}

static void on_link(struct pending *pending, const struct reply *reply)
{
	struct exchange *exchange = (struct exchange *)pending;
	exchange_heard(exchange, reply);
	if (reply->err == ERR_RESOURCE_NOT_FOUND)
		exchange->route = route_row(ROUTE_PASS_IMAGE); /* as any other name */
	if (reply->err)
		page_refuse(exchange, reply->err);
	else if (reply->payload->type == MSGPACK_OBJECT_STR)
		redirect(exchange, exchange_keep(exchange, arg_span(reply->payload)));
	else if (reply->payload->type == MSGPACK_OBJECT_NIL)
		page_refuse(exchange, ERR_OVERLOADED); /* the pass is being made */
	else
		page_refuse_as(exchange, 403);
}

/* Both calls have the token as their only argument. */
static enum err ask(struct exchange *exchange, struct call *head,
                    void (*on_reply)(struct pending *pending, const struct reply *reply))
{
	msgpack_packer packer;
	_Static_assert((int)ARGS_WALLET_GOOGLE_OFFER == (int)ARGS_WALLET_GOOGLE_LINK, "both have a token");
	enum err err = exchange_ask(exchange, head, on_reply, ARGS_WALLET_GOOGLE_LINK, &packer);
	if (err) return err;
	pack_str(&packer, exchange->token);
	exchange_send(exchange);
	return OK;
}

/* A link is given also where the shard could not note it, as with a full disk. */
static void on_offered(struct pending *pending, const struct reply *reply)
{
	struct exchange *exchange = (struct exchange *)pending;
	struct call      head = {
	         .message = MSG_WALLET_GOOGLE_LINK, .has_account = true, .account = exchange->account};
	exchange_heard(exchange, reply);
	enum err err = ask(exchange, &head, on_link);
	if (err) page_refuse(exchange, err);
}

enum err google_ask_link(struct exchange *exchange, struct call *head, struct span token)
{
	exchange->token = token;
	/* A HEAD request is no holder who follows the link. */
	head->message = exchange->without_body ? MSG_WALLET_GOOGLE_LINK : MSG_WALLET_GOOGLE_OFFER;
	return ask(exchange, head, exchange->without_body ? on_link : on_offered);
}

/* The callback -------------------------------------------------------------------------------------------- */

static void on_applied(struct pending *pending, const struct reply *reply)
{
	struct exchange *exchange = (struct exchange *)pending;
	exchange_heard(exchange, reply);
	if (reply->err)
		answer_error(exchange, reply->err, nothing, nothing);
	else
		answer_empty(exchange, 200);
}

static enum err apply(struct exchange *exchange, struct span ticket)
{
	struct call head = {
	    .message = MSG_WALLET_GOOGLE_EVENT, .has_account = true, .account = exchange->account};
	msgpack_packer packer;
	enum err       err = exchange_ask(exchange, &head, on_applied, ARGS_WALLET_GOOGLE_EVENT, &packer);
	if (err) return err;
	pack_bin(&packer, ticket);
	exchange_send(exchange);
	return OK;
}

static void on_checked(struct pending *pending, const struct reply *reply)
{
	static const char message[] = "The body is no callback of Google's wallet for this account.";
	struct exchange  *exchange = (struct exchange *)pending;
	enum err          err = reply->err;
	if (err == ERR_RESOURCE_NOT_FOUND)
		err = ERR_INVALID_REQUEST; /* no such account: a stranger learns no more */
	if (!err) err = apply(exchange, exchange_keep(exchange, arg_span(reply->payload)));
	if (!err) return;
	exchange_heard(exchange, reply);
	answer_error(exchange, err, nothing, err == ERR_INVALID_REQUEST ? span_str(message) : nothing);
}

enum err google_ask_callback(struct exchange *exchange, const struct call *head, struct span account,
                             struct span body)
{
	struct call    call = *head;
	msgpack_packer packer;
	call.message = MSG_WALLET_GOOGLE_CHECK;
	enum err err = exchange_ask(exchange, &call, on_checked, ARGS_WALLET_GOOGLE_CHECK, &packer);
	if (err) return err;
	pack_str(&packer, account);
	pack_bin(&packer, body);
	exchange_send(exchange);
	return OK;
}
