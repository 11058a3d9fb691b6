/* DELETE /v1/rewards/{slug}: its slug is free. Its versions stay as long as an idempotency key may ask for one again. */
#include "actors/shard/reward/reward.h"
#include "schemas/api/reward.h"

enum err on_REWARD_DELETE(struct request *request, struct outcome *outcome)
{
	struct account_id   account = request->account->id;
	struct reward_tally tally;
	struct reward       row;
	enum err err = reward_find(request, arg_span(&request->args[ARG_REWARD_DELETE_reward_slug]), &row);
	if (err || (err = reward_check_unused(request, outcome, &row))) return err;
	if ((err = reward_tally_get(request->view, account, &tally))) return err;
	if (tally.rewards == 0) return ERR_DAMAGED;
	tally.rewards--;
	if ((err = reward_leave_over(request, reward_left_over(account, &row)))) return err;
	if ((err = reward_del(request->view, account, &row))) return err;
	return reward_tally_put(request->view, account, &tally);
}
