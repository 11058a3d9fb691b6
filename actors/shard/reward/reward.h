#pragma once
#include "actors/shard/command.h"
#include "schemas/slug.h"
#include "store/reward.h"

/* What commands on the rewards catalogue share. Errors of view.h go through all of these. */

/* The reward that a path or body names by its slug. Errors: ERR_RESOURCE_NOT_FOUND, for what is no slug too. */
must_check enum err reward_find(const struct request *request, struct span slug, struct reward *row);

/* Reads a reward's terms (IN_TERMS of schemas/api/reward.def) from the arguments from `name` on; their texts borrow from these. What is wrong
 * is named. Errors: ERR_INVALID_INPUT. */
must_check enum err reward_take(struct request *request, struct outcome *outcome, const msgpack_object *terms,
                                struct reward_version *row);

/* Of an edit: is the slug in its body, if there is one, the path's? Errors: ERR_INVALID_INPUT, naming it. */
must_check enum err reward_check_slug(struct outcome *outcome, const msgpack_object *slug, struct span path);

/* Draws a slug from the name, one that no reward of the account has. Errors: ERR_NO_MEMORY. */
must_check enum err reward_draw_slug(struct request *request, struct span name, struct slug *slug);

/* May it leave the catalogue: has nobody got it, and does no rule name it? Errors: ERR_RESOURCE_CONFLICT. */
must_check enum err reward_check_unused(const struct request *request, struct outcome *outcome,
                                        const struct reward *row);

/* Leaves it to the background removal, from when no idempotency key may ask for it again. */
must_check enum err reward_leave_over(struct request *request, struct cleanup row);

/* Publishes `terms` as the next version of `row`, whose status is the one to be, and answers with it.
 * Errors: ERR_RESOURCE_CONFLICT: there are no more numbers. */
must_check enum err reward_publish(struct request *request, struct outcome *outcome, struct reward *row,
                                   struct reward_version *terms);

/* Packs it as the interface prints it: one map. A version knows how it was published; archiving it since changed two
 * of the fields. */
void reward_pack(const struct reward_version *terms, enum reward_status status, wall_us updated,
                 msgpack_packer *packer);

/* The answer of reward_publish() again. Errors: ERR_DAMAGED. */
must_check enum err reward_again(struct request *request, const struct recipe *recipe,
                                 struct outcome *outcome);
