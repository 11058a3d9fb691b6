/* GET /v1/rewards/{slug}: archived ones too. */
#include "actors/shard/reward/reward.h"
#include "schemas/api/reward.h"

enum err on_REWARD_GET(struct request *request, struct outcome *outcome)
{
	struct reward         row;
	struct reward_version terms;
	msgpack_packer        pk = buffer_packer(outcome->payload);
	enum err err = reward_find(request, arg_span(&request->args[ARG_REWARD_GET_reward_slug]), &row);
	if (err) return err;
	err = reward_version_get(request->view, request->account->id, row.family, row.version, &terms);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	reward_pack(&terms, row.status, row.updated, &pk);
	return OK;
}
