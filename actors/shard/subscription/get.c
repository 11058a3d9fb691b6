/* GET /v1/webhook-subscriptions/{id} */
#include "actors/shard/subscription/subscription.h"
#include "schemas/api/subscription.h"

enum err on_SUBSCRIPTION_GET(struct request *request, struct outcome *outcome)
{
	struct subscription row;
	msgpack_packer      pk = buffer_packer(outcome->payload);
	enum err err = subscription_find(request, &request->args[ARG_SUBSCRIPTION_GET_subscription_id], &row);
	if (!err) subscription_pack(&row, &pk);
	return err;
}
