/* Entitlements and redemptions as they are shown, and shown again for an idempotency key: then as they were answered,
 * whatever has become of them since. */
#include "actors/shard/entitlement/entitlement.h"

#include "actors/shard/pass/pass.h"
#include "schemas/api/entitlement.h"
#include "store/keys.h"
#include "store/reward.h"

enum cause entitlement_check_pass(const struct hot *pass)
{
	return pass->flags & HOT_DELETED ? CAUSE_PASS_UNKNOWN : pass_is_dead(pass);
}

/* How one is shown ---------------------------------------------------------------------------------------- */

static const char *status_text(const struct entitlement *row, bool is_past)
{
	if (row->state == ENTITLEMENT_REDEEMED) return "redeemed";
	return row->state == ENTITLEMENT_REPLACED || is_past ? "expired" : "available";
}

static void pack_expiry(const struct entitlement *row, bool is_past, msgpack_packer *pk)
{
	if (row->expires.v)
		pack_time(pk, "expiration_timestamp", row->expires);
	else
		pack_null(pk, "expiration_timestamp");
	if (is_past)
		pack_member(pk, "expiration_reason", span_str("time_elapsed"));
	else if (row->state == ENTITLEMENT_REPLACED)
		pack_member(pk, "expiration_reason", span_str("replaced"));
	else
		pack_null(pk, "expiration_reason");
}

void entitlement_pack(const struct entitlement *row, const struct reward_version *terms, struct span pass_id,
                      wall_us now, msgpack_packer *pk)
{
	bool is_past = entitlement_is_past(row, now);
	msgpack_pack_map(pk, 14);
	pack_uuid(pk, "id", row->id);
	pack_uuid(pk, "family_id", terms->family_id);
	pack_uuid(pk, "definition_id", terms->id);
	pack_member(pk, "reward_slug", terms->slug);
	pack_member(pk, "reward_name", terms->name);
	pack_member(pk, "reward_kind", span_str(reward_kind_text(terms->kind)));
	pack_member(pk, "pass_id", pass_id);
	pack_member(pk, "status", span_str(status_text(row, is_past)));
	pack_count(pk, "remaining_redemptions", row->remaining);
	pack_expiry(row, is_past, pk);
	pack_member(pk, "assignment_source_type",
	            span_str(row->source == SOURCE_AUTOMATIC ? "automatic" : "manual"));
	pack_time(pk, "created_at", row->created);
	pack_time(pk, "updated_at", is_past ? row->expires : row->updated);
}

enum err entitlement_show(struct request *request, const struct entitlement *row, struct span pass_id,
                          wall_us now, msgpack_packer *pk)
{
	struct reward_version terms;
	enum err err = reward_version_get(request->view, request->account->id, row->family, row->version,
	                                  &terms);
	if (!err) entitlement_pack(row, &terms, pass_id, now, pk);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

void redemption_pack_row(const struct redemption *row, msgpack_packer *pk)
{
	msgpack_pack_map(pk, 6);
	pack_uuid(pk, "id", row->id);
	pack_uuid(pk, "entitlement_id", row->entitlement);
	pack_count(pk, "amount", row->amount);
	pack_member(pk, "context", row->context);
	pack_member(pk, "note", row->note);
	pack_time(pk, "created_at", row->created);
}

enum err redemption_pack(struct request *request, const struct redemption *row,
                         const struct entitlement *after, struct span pass_id, msgpack_packer *pk)
{
	msgpack_pack_map(pk, 2);
	pack_text(pk, "redemption");
	redemption_pack_row(row, pk);
	pack_text(pk, "entitlement");
	return entitlement_show(request, after, pass_id, row->created, pk);
}

/* Once more: the same request, so the same path ----------------------------------------------------------- */

/* The ids of a recipe's detail, and the entitlement that the first names. */
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
