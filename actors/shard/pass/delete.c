/* DELETE /v1/passes/{id}: logical. The id becomes free for a new pass. */
#include "actors/shard/pass/pass.h"
#include "schemas/api/pass.h"

enum err on_PASS_DELETE(struct request *request, struct outcome *outcome)
{
	struct hot_at pass;
	enum err err = pass_find(request, arg_span(&request->args[ARG_PASS_DELETE_pass_id]), false, &pass);
	(void)outcome;
	if (err) return err;
	struct hot after = pass.now;
	after.status = PASS_DEACTIVATED;
	after.flags |= HOT_DELETED;
	return pass_change(request, &pass, after, (struct ledger_row){.what = LEDGER_DELETED});
}
