#pragma once
#include "actors/shard/command.h"
#include "store/reward.h"

/* What commands on the rewards catalogue share. Errors of view.h go through all of these. */

/* The reward that a path or body names by its slug. Errors: ERR_RESOURCE_NOT_FOUND, for what is no slug too. */
must_check enum err reward_find(const struct request *request, struct span slug, struct reward *row);

/* Does an activation rule of the account, active or not, name this slug? */
bool rules_name_slug(const struct account *account, struct span slug);
