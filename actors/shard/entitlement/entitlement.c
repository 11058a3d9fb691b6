/* Packs entitlements and redemptions. A repeated request gets them as they were in its first response, whatever has changed
 * since. */
#include "actors/shard/entitlement/entitlement.h"

#include "schemas/object_msgpack.h"
#include "actors/shard/pass/pass.h"
#include "schemas/api/entitlement.h"
#include "store/keys.h"
#include "store/reward.h"

enum cause entitlement_check_pass(const struct hot *pass)
{
	return pass->flags & HOT_DELETED ? CAUSE_PASS_UNKNOWN : pass_is_dead(pass);
}

/* Packing ------------------------------------------------------------------------------------------------- */

static const char *status_text(const struct entitlement *row, bool is_past)
{
	if (row->state == ENTITLEMENT_REDEEMED) return "redeemed";
	return row->state == ENTITLEMENT_REPLACED || is_past ? "expired" : "available";
}

void entitlement_pack(const struct entitlement *row, const struct reward_version *terms, struct span pass_id,
                      wall_us now, msgpack_packer *pk)
{
	bool   is_past = entitlement_is_past(row, now);
	size_t map = map_begin(pk);
#include "schemas/objects/entitlement.def"
}

static enum err terms_of(struct request *request, const struct entitlement *row, struct reward_version *terms)
{
	enum err err = reward_version_get(request->view, request->account->id, row->family, row->version,
	                                  terms);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

enum err entitlement_show(struct request *request, const struct entitlement *row, struct span pass_id,
                          wall_us now, msgpack_packer *pk)
{
	struct reward_version terms;
	enum err              err = terms_of(request, row, &terms);
	if (!err) entitlement_pack(row, &terms, pass_id, now, pk);
	return err;
}

void pack_Redemption(msgpack_packer *pk, const struct redemption *row)
{
	size_t map = map_begin(pk);
#include "schemas/objects/redemption.def"
}

/* The parameters of entitlement_pack(). */
struct shown {
	const struct entitlement    *row;
	const struct reward_version *terms;
	struct span                  pass_id;
	wall_us                      now;
};

static void pack_Entitlement(msgpack_packer *pk, const struct shown *shown)
{
	entitlement_pack(shown->row, shown->terms, shown->pass_id, shown->now, pk);
}

enum err redemption_pack(struct request *request, const struct redemption *row,
                         const struct entitlement *after, struct span pass_id, msgpack_packer *pk)
{
	struct reward_version terms;
	const struct shown    shown = {after, &terms, pass_id, row->created};
	enum err              err = terms_of(request, after, &terms);
	if (err) return err;
	size_t map = map_begin(pk);
#include "schemas/objects/redeemed.def"
	return OK;
}

/* Repeated requests: the path is the same, too ------------------------------------------------------------ */

/* Reads the ids in a recipe's detail, and the entitlement that the first id names. */
static enum err open_recipe(struct request *request, const struct recipe *recipe, struct uuid ids[],
                            unsigned count, struct entitlement *row)
{
	if (recipe->detail.size != count * sizeof *ids) return ERR_DAMAGED;
	memcpy(ids, recipe->detail.at, recipe->detail.size);
	enum err err = entitlement_get(request->view, request->account->id, recipe->number, ids[0], row);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

enum err entitlement_again(struct request *request, const struct recipe *recipe, struct outcome *outcome)
{
	struct uuid        id;
	struct entitlement row;
	struct span        pass_id = arg_span(&request->args[ARG_ENTITLEMENT_ASSIGN_pass_id]);
	msgpack_packer     pk = buffer_packer(outcome->payload);
	enum err           err = open_recipe(request, recipe, &id, 1, &row);
	if (err) return err;
	row.state = ENTITLEMENT_OPEN;
	row.remaining = row.allowance;
	row.updated = row.created;
	return entitlement_show(request, &row, pass_id, row.created, &pk);
}

enum err redemption_again(struct request *request, const struct recipe *recipe, struct outcome *outcome)
{
	struct uuid        ids[2];
	struct entitlement row;
	struct span        pass_id = arg_span(&request->args[ARG_ENTITLEMENT_REDEEM_pass_id]);
	msgpack_packer     pk = buffer_packer(outcome->payload);
	enum err           err = open_recipe(request, recipe, ids, 2, &row);
	if (err) return err;
	struct redemption redemption = {.pass = row.pass, .entitlement = ids[0], .id = ids[1]};
	err = redemption_get(request->view, request->account->id, &redemption);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	row.remaining = redemption.remaining;
	row.state = redemption.remaining ? ENTITLEMENT_OPEN : ENTITLEMENT_REDEEMED;
	row.updated = redemption.created;
	return redemption_pack(request, &redemption, &row, pass_id, &pk);
}
