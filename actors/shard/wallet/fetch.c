/* WALLET_PASS: a phone asks for the pass that it has, as it is now. The package is of the pass type in its path; an ended pass
 * is void. */
#include "actors/shard/wallet/draft.h"
#include "actors/shard/wallet/phone.h"
#include "schemas/api/phone.h"
#include "schemas/wallet/package_reply.h"

/* Errors: ERR_UNAUTHENTICATED: the phone may not have it. */
static enum err open_draft(struct request *request, struct draft *draft)
{
	const msgpack_object *args = request->args;
	struct span           type = arg_span(&args[ARG_WALLET_PASS_type]);
	struct span           token = arg_span(&args[ARG_WALLET_PASS_token]);
	enum err              err = phone_pass_body(request, token, &draft->pass, &draft->body);
	if (err) return err;
	if ((err = phone_may_have(request, &draft->pass))) return err;
	return phone_credential(request, type, &draft->credential);
}

/* The second in which what the phone shows changed last. */
static enum err changed_s(struct request *request, const struct draft *draft, int64_t *second)
{
	uint32_t look;
	wall_us  shown;
	enum err err = account_template_look(request->account, request->view, draft->pass.now.template, &look,
	                                     &shown);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	const wall_us     updated = draft->pass.now.updated;
	struct ledger_row newest; /* perhaps a message, which is no update of the pass */
	if ((err = ledger_get(request->view, draft->pass.account, draft->pass.now.ledger_head, &newest)))
		return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (updated.v > shown.v) shown = updated;
	if (newest.at.v > shown.v) shown = newest.at;
	*second = shown.v / US_PER_SEC;
	return OK;
}

/* Last-Modified counts seconds, and a pass may change again within one. So what is sent is at most the second before now: a
 * phone that comes back with it gets what came in that second, too. */
static enum err sign(struct request *request, struct draft *draft, struct buffer *pass_json,
                     struct package_reply *reply)
{
	const msgpack_object *since = &request->args[ARG_WALLET_PASS_since];
	const int64_t         before_now = request->now.v / US_PER_SEC - 1;
	int64_t               changed;
	enum err              err = changed_s(request, draft, &changed);
	if (err) return err;
	bool is_same = arg_present(since) && arg_integer(since, 0) >= changed;
	bool has_ended = wallet_credential_ended(&draft->credential, request->now);
	reply->fate = has_ended ? PACKAGE_LATER : is_same ? PACKAGE_SAME : PACKAGE_MADE;
	if (reply->fate != PACKAGE_MADE || (err = draft_begin(request, draft))) return err;
	reply->kit = draft->kit.is;
	reply->modified_s = (uint32_t)(changed < before_now ? changed : before_now);
	return draft_sign(request, draft, pass_json, &reply->own);
}

enum err on_WALLET_PASS(struct request *request, struct outcome *outcome)
{
	struct draft         draft;
	struct package_reply reply = {.fate = PACKAGE_OFF};
	struct buffer        pass_json = {0};
	enum err             err = OK;
	if (wallet_is_on(&request->account->row, WALLET_APPLE) && !(err = open_draft(request, &draft)))
		err = sign(request, &draft, &pass_json, &reply);
	if (!err) package_reply_pack(&reply, outcome->payload);
	buffer_free(&pass_json);
	return err;
}
