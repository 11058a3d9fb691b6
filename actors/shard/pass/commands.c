/* The small commands of passes. */
#include "actors/shard/pass/pass.h"
#include "actors/shard/wallet/changed.h"
#include "schemas/api/issuing.h"
#include "schemas/api/pass.h"

/* GET /v1/passes/{id} */
enum err on_PASS_GET(struct request *request, struct outcome *outcome)
{
	struct hot_at pass;
	struct span   pass_id = arg_span(&request->args[ARG_PASS_GET_pass_id]);
	bool          or_deleted = arg_boolean(&request->args[ARG_PASS_GET_include_deleted], false);
	enum err      err = pass_find(request, pass_id, or_deleted, &pass);
	return err ? err : pass_show(request, &pass, outcome->payload);
}

/* PASS_LOOK, by the shard itself: a pass as it stands, for those who waited for its issuance. */

enum err on_PASS_LOOK(struct request *request, struct outcome *outcome)
{
	struct hot_at pass;
	uint32_t      number = (uint32_t)arg_integer(&request->args[ARG_PASS_LOOK_number], 0);
	enum err      err = hot_get(request->view, request->account->id, number, &pass);
	if (err) return err;
	if (!pass_is_issued(&pass.now)) outcome->flags = REPLY_ACCEPTED;
	return pass_show(request, &pass, outcome->payload);
}

/* DELETE /v1/passes/{id}: logical. The id becomes free for a new pass. */
enum err on_PASS_DELETE(struct request *request, struct outcome *outcome)
{
	struct hot_at        pass;
	struct wallet_ending ending;
	enum err err = pass_find(request, arg_span(&request->args[ARG_PASS_DELETE_pass_id]), false, &pass);
	(void)outcome;
	if (err || (err = wallet_look_ends(request, &pass, &ending))) return err;
	struct hot after = pass.now;
	after.status = PASS_DEACTIVATED;
	after.flags |= HOT_DELETED;
	if ((err = pass_change(request, &pass, after, (struct ledger_row){.what = LEDGER_DELETED})))
		return err;
	return wallet_ended(request, &pass, &ending);
}
