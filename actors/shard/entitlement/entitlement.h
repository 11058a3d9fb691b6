#pragma once
#include "actors/shard/command.h"
#include "store/entitlement.h"
#include "store/hot.h"
#include "store/redemption.h"
#include "store/reward.h"

/* What commands on entitlements share, and how another command assigns a reward in its own commit. Errors: as view.h, and
 * those named. */

/* An assignment that may be made: what of it has to be read before the command's first write. Lives as long as the
 * command. */
struct assignment {
	uint32_t    pass;
	struct span slug; /* borrowed */
	bool        replace;

	const struct entitlement_open *open; /* with `replace`: what of the family was available then */
	unsigned                       open_count;
};

/* Plans to assign the reward `slug` to pass number `pass`, which need not be there yet. Range reads: before the command's
 * first write. A slug that names no reward is no error here. */
must_check enum err entitlement_plan(struct request *request, uint32_t pass, struct span slug, bool replace,
                                     struct assignment *plan);

/* What has been assigned, and on which terms. */
struct assigned {
	struct entitlement    row;
	struct reward_version terms;   /* its spans live as long as the view's values */
	enum cause            refused; /* why nothing has been; CAUSE_NONE: the error says all */
};

/* Stages what was planned, after any other writes: several of one command see each other. When the interface refuses it
 * nothing has been staged. Errors, in the order of the checks: ERR_RESOURCE_NOT_FOUND (the pass is deleted),
 * ERR_RESOURCE_CONFLICT (deactivated, or never issued), ERR_RESOURCE_NOT_FOUND (no such reward),
 * ERR_REWARD_NOT_ASSIGNABLE (archived), ERR_REWARD_FIXED_END_PASSED, ERR_REWARD_ASSIGNMENT_LIMIT_REACHED,
 * ERR_REWARD_NOT_ASSIGNABLE (the pass had it already), ERR_RESOURCE_CONFLICT (too many to be replaced). */
must_check enum err entitlement_assign(struct request *request, const struct hot_at *pass,
                                       const struct assignment *plan, enum entitlement_source source,
                                       struct assigned *made);

/* One as the interface shows it (document 2.3) at `now`, of the pass with that id; the terms are its version's, and the
 * second looks them up. */
void entitlement_pack(const struct entitlement *row, const struct reward_version *terms, struct span pass_id,
                      wall_us now, msgpack_packer *pk);
must_check enum err entitlement_show(struct request *request, const struct entitlement *row,
                                     struct span pass_id, wall_us now, msgpack_packer *pk);

/* What both is redeemed and assigned must be of: a pass that is not deactivated and was issued, or is about to be. Why it is
 * not of one; CAUSE_NONE: it is. */
enum cause entitlement_check_pass(const struct hot *pass);

/* A redemption by itself; and with what it left of its entitlement, of the pass with that id, as they are answered. */
void                redemption_pack_row(const struct redemption *row, msgpack_packer *pk);
must_check enum err redemption_pack(struct request *request, const struct redemption *row,
                                    const struct entitlement *after, struct span pass_id, msgpack_packer *pk);

/* Answers for idempotency keys, from their recipes. */
must_check enum err entitlement_again(struct request *request, const struct recipe *recipe,
                                      struct outcome *outcome);
must_check enum err redemption_again(struct request *request, const struct recipe *recipe,
                                     struct outcome *outcome);
