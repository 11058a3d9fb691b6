/* GET /v1/rewards/entitlement-counts: of all entitlements of the account, those of deleted passes too. What has expired by
 * itself is nowhere marked: it is counted by the clock (store/expiry.h). */
#include "actors/shard/entitlement/entitlement.h"

#include "store/expiry.h"
#include "store/reward.h"

enum err on_ENTITLEMENT_COUNTS(struct request *request, struct outcome *outcome)
{
	struct reward_tally tally;
	uint64_t            passed;
	msgpack_packer      pk = buffer_packer(outcome->payload);
	enum err            err = reward_tally_get(request->view, request->account->id, &tally);
	if (!err) err = expiry_passed(request->view, request->account->id, request->now, &passed);
	if (err) return err;
	if (passed > tally.open) return ERR_DAMAGED;
	msgpack_pack_map(&pk, 4);
	pack_count(&pk, "total", tally.entitlements);
	pack_count(&pk, "redeemable", tally.open - passed);
	pack_count(&pk, "redeemed", tally.redeemed);
	pack_count(&pk, "expired", tally.replaced + passed);
	return OK;
}
