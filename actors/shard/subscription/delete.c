/* DELETE /v1/webhook-subscriptions/{id}: the row goes, and with it the generation that a delivery would have to meet. */
#include "actors/shard/subscription/subscription.h"
#include "schemas/api/subscription.h"

enum err on_SUBSCRIPTION_DELETE(struct request *request, struct outcome *outcome)
{
	(void)outcome;
	struct subscription   row;
	const msgpack_object *id = &request->args[ARG_SUBSCRIPTION_DELETE_subscription_id];
	enum err              err = subscription_find(request, id, &row);
	return err ? err : subscription_del(request->view, request->account->id, row.id);
}
