/* POST /v1/rewards/{slug}/archive: no new version, since the terms stay what they are. */
#include "actors/shard/reward/reward.h"
#include "schemas/api/reward.h"

enum err on_REWARD_ARCHIVE(struct request *request, struct outcome *outcome)
{
	struct reward row;
	enum err err = reward_find(request, arg_span(&request->args[ARG_REWARD_ARCHIVE_reward_slug]), &row);
	if (err) return err;
	if (row.status == REWARD_ARCHIVED) return refuse(outcome, REASON_OF_ALL(REWARD_ARCHIVED_TWICE));
	if ((err = reward_check_unused(request, outcome, &row))) return err;
	row.status = REWARD_ARCHIVED;
	row.updated = request->now;
	return reward_put(request->view, request->account->id, &row);
}
