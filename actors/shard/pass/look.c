/* PASS_LOOK, by the shard itself: a pass as it stands, for those who waited for its issuance. */
#include "actors/shard/pass/pass.h"
#include "schemas/api/pass.h"

/* Has it been issued, whatever came after? A pass that was deactivated before had none of it. */
static bool was_issued(const struct hot *pass)
{
	return pass->status == PASS_ISSUED || pass->status == PASS_ACTIVE || pass->status == PASS_REMOVED;
}

enum err on_PASS_LOOK(struct request *request, struct outcome *outcome)
{
	struct hot_at pass;
	uint32_t      number = (uint32_t)arg_integer(&request->args[ARG_PASS_LOOK_number], 0);
	enum err      err = hot_get(request->view, request->account->id, number, &pass);
	if (err) return err;
	if (!was_issued(&pass.now)) outcome->flags = REPLY_ACCEPTED;
	return pass_show(request, &pass, outcome->payload);
}
