/* POST /v1/webhook-subscriptions: the one answer that shows the secret. */
#include "actors/shard/subscription/subscription.h"
#include "schemas/api/subscription.h"

enum err on_SUBSCRIPTION_CREATE(struct request *request, struct outcome *outcome)
{
	struct subscription row = {
	    .active = true, .generation = 1, .created = request->now, .updated = request->now};
	const msgpack_object *args = request->args;
	msgpack_packer        pk = buffer_packer(outcome->payload);
	enum err err = subscription_take_url(request, outcome, &args[ARG_SUBSCRIPTION_CREATE_url], &row);
	if (err) return err;
	err = subscription_take_kinds(request, outcome, &args[ARG_SUBSCRIPTION_CREATE_event_types], &row);
	if (err) return err;
	if (row.kind_count == 0) {
		bool given = arg_present(&args[ARG_SUBSCRIPTION_CREATE_event_types]);
		return subscription_refuse_kinds(outcome, given ? CAUSE_KINDS_EMPTY : CAUSE_KINDS_MISSING);
	}
	if ((err = subscription_draw(request, &row))) return err;
	if ((err = subscription_check_active(request->account, outcome, &row))) return err;
	if (request->account->webhooks->stored->count >= WEBHOOKS_MAX)
		return refuse(outcome, REASON_OF_ALL(HOOKS_STORED, .most = WEBHOOKS_MAX));
	if ((err = subscription_put(request->view, request->account->id, &row))) return err;
	if ((err = subscription_note(request, &row, RECIPE_SUBSCRIPTION_AND_SECRET, outcome))) return err;
	return subscription_pack_whole(request, &row, &pk);
}
