/* GET /v1/webhook-subscriptions: all of the account's, the oldest first, in one answer. */
#include "actors/shard/subscription/subscription.h"

enum err on_SUBSCRIPTION_LIST(struct request *request, struct outcome *outcome)
{
	struct subscription row = {.active = false};
	struct buffer       items = {0};
	uint32_t            count = 0;
	enum err            err;
	msgpack_packer      pk = buffer_packer(outcome->payload), item = buffer_packer(&items);
	while (!(err = subscription_next(request->view, request->account->id, &row))) {
		subscription_pack(&row, &item);
		count++;
	}
	msgpack_pack_map(&pk, 1);
	pack_text(&pk, "subscriptions");
	msgpack_pack_array(&pk, count);
	buffer_append(outcome->payload, items.at, items.size);
	bool failed = items.failed;
	buffer_free(&items);
	if (err != ERR_NOT_FOUND) return err;
	return failed ? ERR_NO_MEMORY : OK;
}
