#pragma once
#include "actors/shard/command.h"
#include "schemas/slug.h"
#include "store/reward.h"

/* Shared by the commands on the catalogue of rewards. Errors: as view.h, and those named. */

/* The reward that a path or body names by its slug. Errors: ERR_RESOURCE_NOT_FOUND (also for a text that is no slug). */
must_check enum err reward_find(const struct request *request, struct span slug, struct reward *row);

/* Reads a reward's terms (IN_TERMS of schemas/api/reward.def) from the arguments from `name` on; their texts borrow from
 * these. Errors: ERR_INVALID_INPUT, naming the argument. */
must_check enum err reward_take(struct request *request, struct outcome *outcome, const msgpack_object *terms,
                                struct reward_version *row);

/* An edit may repeat the slug of its path, and give no other. Errors: ERR_INVALID_INPUT, naming it. */
must_check enum err reward_check_slug(struct outcome *outcome, const msgpack_object *slug, struct span path);

/* Makes a slug from the name, one that no reward of the account has. Errors: ERR_NO_MEMORY. */
must_check enum err reward_draw_slug(struct request *request, struct span name, struct slug *slug);

/* A reward may leave the catalogue if it was never assigned and no rule names it. Errors: ERR_RESOURCE_CONFLICT. */
must_check enum err reward_check_unused(const struct request *request, struct outcome *outcome,
                                        const struct reward *row);

/* Leaves the rows to the background cleanup, which removes them once no idempotency key can ask for them. */
must_check enum err reward_leave_over(struct request *request, struct cleanup row);

/* Publishes `terms` as the next version of `row`, which has its new status already, and puts the reward into the response.
 * Errors: ERR_RESOURCE_CONFLICT (no version number is left). */
must_check enum err reward_publish(struct request *request, struct outcome *outcome, struct reward *row,
                                   struct reward_version *terms);

/* Packs it as the interface prints it. `status` and `updated` are apart from the version, since archiving changes them and
 * publishes no version. */
void reward_pack(const struct reward_version *terms, enum reward_status status, wall_us updated,
                 msgpack_packer *packer);

/* The response of reward_publish(), for a repeated request. Errors: ERR_DAMAGED. */
must_check enum err reward_again(struct request *request, const struct recipe *recipe,
                                 struct outcome *outcome);
