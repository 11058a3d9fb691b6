/* GET /v1/rewards/entitlement-counts: counts all entitlements of the account, those of deleted passes too. No row says that an
 * entitlement has expired by time: these are counted by the clock (store/expiry.h). */
#include "actors/shard/entitlement/entitlement.h"

#include "schemas/object_msgpack.h"
#include "store/expiry.h"
#include "store/reward.h"

enum err on_ENTITLEMENT_COUNTS(struct request *request, struct outcome *outcome)
{
	struct reward_tally tally;
	uint64_t            passed;
	msgpack_packer      packer = buffer_packer(outcome->payload), *pk = &packer;
	enum err            err = reward_tally_get(request->view, request->account->id, &tally);
	if (!err) err = expiry_passed(request->view, request->account->id, request->now, &passed);
	if (err) return err;
	if (passed > tally.open) return ERR_DAMAGED;
	size_t map = map_begin(pk);
#include "schemas/objects/entitlement_counts.def"
	return OK;
}
