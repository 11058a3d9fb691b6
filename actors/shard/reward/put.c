/* PUT /v1/rewards/{slug}: a new version, of terms that are given as a whole; its status stays. */
#include "actors/shard/reward/reward.h"
#include "schemas/api/reward.h"

enum err on_REWARD_PUT(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	struct span           slug = arg_span(&args[ARG_REWARD_PUT_reward_slug]);
	struct reward_version terms;
	struct reward         row;
	enum err              err = reward_take(request, outcome, &args[ARG_REWARD_PUT_name], &terms);
	if (err || (err = reward_check_slug(outcome, &args[ARG_REWARD_PUT_slug], slug))) return err;
	if ((err = reward_find(request, slug, &row))) return err;
	return reward_publish(request, outcome, &row, &terms);
}
