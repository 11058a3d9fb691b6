/* POST /v1/rewards/{slug}/restore: an archived reward becomes active again, with the terms of the body, or, without
 * one, with those that it had. An empty object says as little as no body. */
#include "actors/shard/reward/reward.h"
#include "schemas/api/reward.h"

static bool has_body(const struct request *request)
{
	for (unsigned i = ARG_REWARD_RESTORE_reward_slug + 1; i < ARGS_REWARD_RESTORE; i++)
		if (arg_present(&request->args[i])) return true;
	return false;
}

enum err on_REWARD_RESTORE(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	struct span           slug = arg_span(&args[ARG_REWARD_RESTORE_reward_slug]);
	bool                  given = has_body(request);
	struct reward_version terms;
	struct reward         row;
	enum err err = given ? reward_take(request, outcome, &args[ARG_REWARD_RESTORE_name], &terms) : OK;
	if (err || (err = reward_check_slug(outcome, &args[ARG_REWARD_RESTORE_slug], slug))) return err;
	if ((err = reward_find(request, slug, &row))) return err;
	if (row.status != REWARD_ARCHIVED) return refuse(outcome, REASON_OF_ALL(REWARD_NOT_ARCHIVED));
	if (!given)
		err = reward_version_get(request->view, request->account->id, row.family, row.version,
		                         &terms);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	row.status = REWARD_ACTIVE;
	return reward_publish(request, outcome, &row, &terms);
}
