#pragma once
#include "actors/shard/command.h"
#include "store/entitlement.h"
#include "store/hot.h"
#include "store/redemption.h"
#include "store/reward.h"

/* Shared by the commands on entitlements, and by others that assign a reward in their own commit. Errors: as view.h, and
 * those named. */

/* A planned assignment: the part that has to be read before the command's first write. Lives as long as the command. */
struct assignment {
	uint32_t    pass;
	struct span slug; /* borrowed */
	bool        replace;

	const struct entitlement_open
	        *open; /* with `replace`: those of the family that were available then */
	unsigned open_count;
};

/* Plans to assign the reward `slug` to pass number `pass`, which need not be there yet. Range reads: before the command's
 * first write. A slug that names no reward is no error here. */
must_check enum err entitlement_plan(struct request *request, uint32_t pass, struct span slug, bool replace,
                                     struct assignment *plan);

/* A new entitlement, and its terms. */
struct assigned {
	struct entitlement    row;
	struct reward_version terms;   /* its spans live as long as the view's values */
	enum cause            refused; /* why there is none; CAUSE_NONE: the error says all */
};

/* Stages what was planned, after any other writes: several in one command see each other. A refusal leaves nothing
 * staged. Errors, in the order of the checks: ERR_RESOURCE_NOT_FOUND (the pass is deleted),
 * ERR_RESOURCE_CONFLICT (deactivated, or never issued), ERR_RESOURCE_NOT_FOUND (no such reward),
 * ERR_REWARD_NOT_ASSIGNABLE (archived), ERR_REWARD_FIXED_END_PASSED, ERR_REWARD_ASSIGNMENT_LIMIT_REACHED,
 * ERR_REWARD_NOT_ASSIGNABLE (the pass had it already), ERR_RESOURCE_CONFLICT (too many to be replaced). */
must_check enum err entitlement_assign(struct request *request, const struct hot_at *pass,
                                       const struct assignment *plan, enum entitlement_source source,
                                       struct assigned *made);

/* Pack an entitlement as the interface prints it at `now` (document 2.3), with its pass's id and the terms of its version.
 * The second looks the terms up. */
void entitlement_pack(const struct entitlement *row, const struct reward_version *terms, struct span pass_id,
                      wall_us now, msgpack_packer *pk);
must_check enum err entitlement_show(struct request *request, const struct entitlement *row,
                                     struct span pass_id, wall_us now, msgpack_packer *pk);

/* Redeeming and assigning need a pass that is not deactivated and was issued, or is about to be. Returns why this pass is not
 * one; CAUSE_NONE: it is. */
enum cause entitlement_check_pass(const struct hot *pass);

/* Pack a redemption; and the response to a redeem request: the redemption, and the entitlement after it. */
void                pack_Redemption(msgpack_packer *pk, const struct redemption *row);
must_check enum err redemption_pack(struct request *request, const struct redemption *row,
                                    const struct entitlement *after, struct span pass_id, msgpack_packer *pk);

/* Responses to repeated requests, from their recipes. */
must_check enum err entitlement_again(struct request *request, const struct recipe *recipe,
                                      struct outcome *outcome);
must_check enum err redemption_again(struct request *request, const struct recipe *recipe,
                                     struct outcome *outcome);
