/* GET /p/{token}/pass.pkpass: the pass as Apple's wallet takes it. What travels to http are the package's own files and the name
 * of its kit, which http asks for if it has none. */
#include "actors/shard/list/list_out.h"
#include "actors/shard/wallet/draft.h"
#include "actors/shard/wallet/phone.h"

#include "schemas/api/wallet.h"
#include "schemas/wallet/package_reply.h"

/* May the holder have the pass now? */
static enum package_fate fate_of(const struct request *request, const struct draft *draft)
{
	const struct hot *pass = &draft->pass.now;
	if (pass->status == PASS_CREATING) return PACKAGE_LATER;
	if (!pass_may_be_put(pass)) return PACKAGE_FORBIDDEN;
	return wallet_credential_ended(&draft->credential, request->now) ? PACKAGE_LATER : PACKAGE_MADE;
}

static bool is_on(const struct request *request)
{
	return wallet_is_on(&request->account->row, WALLET_APPLE);
}

/* Errors: ERR_RESOURCE_NOT_FOUND: no such pass, or the account has no Apple wallet; ERR_PASS_DELETED. */
static enum err open_draft(struct request *request, const msgpack_object *token, struct draft *draft)
{
	if (!is_on(request)) return ERR_RESOURCE_NOT_FOUND;
	enum err err = wallet_credential_now(request->view, request->account->id, WALLET_APPLE,
	                                     &draft->credential);
	if (!err) err = pass_of_token(request, arg_span(token), &draft->pass, &draft->body);
	return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

enum err on_WALLET_PACKAGE(struct request *request, struct outcome *outcome)
{
	struct draft         draft;
	struct package_reply reply = {.fate = PACKAGE_NEVER};
	struct buffer        pass_json = {0};
	enum err             err = OK;
	if (!(wallet_kinds_here(request) & WALLET_BIT(WALLET_APPLE))) {
		package_reply_pack(&reply, outcome->payload);
		return OK;
	}
	if ((err = open_draft(request, &request->args[ARG_WALLET_PACKAGE_token], &draft))) return err;
	reply.fate = fate_of(request, &draft);
	if (reply.fate == PACKAGE_MADE && !(err = draft_begin(request, &draft)))
		err = draft_sign(request, &draft, &pass_json, &reply.own);
	if (reply.fate == PACKAGE_MADE) reply.kit = draft.kit.is;
	if (!err) package_reply_pack(&reply, outcome->payload);
	buffer_free(&pass_json);
	return err;
}

/* WALLET_KIT: the pictures of that package, in parts. A kit of another name is not the pass's any more. */
static enum err send_kit(struct outcome *outcome, struct span kit)
{
	enum err       err = send_front(outcome, &kit);
	msgpack_packer pk = buffer_packer(outcome->payload);
	if (!err) pack_bin(&pk, kit);
	return err;
}

enum err on_WALLET_KIT(struct request *request, struct outcome *outcome)
{
	struct span   hash = arg_span(&request->args[ARG_WALLET_KIT_hash]);
	struct span   token = arg_span(&request->args[ARG_WALLET_KIT_token]);
	struct draft  draft = {.credential = {.number = 0}}; /* nothing is signed */
	struct buffer kit = {0};
	if (!is_on(request)) return ERR_RESOURCE_NOT_FOUND;
	enum err err = phone_pass_body(request, token, &draft.pass, &draft.body);
	if (err == ERR_UNAUTHENTICATED) err = ERR_RESOURCE_NOT_FOUND;
	if (err || (err = draft_begin(request, &draft))) return err;
	if (!span_equal(hash, span_of(draft.kit.is.hash, SHA256_BYTES))) return ERR_RESOURCE_NOT_FOUND;
	if (!(err = draft_kit_write(&draft.kit, &kit))) err = send_kit(outcome, buffer_span(&kit));
	buffer_free(&kit);
	return err;
}
