/* The rewards catalogue: how a reward is found, and who else names it. */
#include "actors/shard/reward/reward.h"

enum err reward_find(const struct request *request, struct span slug, struct reward *row)
{
	enum err err = reward_by_slug(request->view, request->account->id, slug, row);
	return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

bool rules_name_slug(const struct account *account, struct span slug)
{
	(void)account;
	(void)slug;
	return false;
}
