/* Which subscriptions receive an event: decided when it happens, by the subscriptions of that moment. */
#include "actors/shard/delivery/fan_out.h"

#include "store/delivery.h"

enum err fan_out(struct request *request, enum event_kind kind, uint32_t subject)
{
	const struct account *account = request->account;
	struct delivery       row = {.account = account->id,
	                             .zone = ZONE_WAITING,
	                             .due = request->now,
	                             .kind = (uint8_t)kind,
	                             .subject = subject,
	                             .fact = request->now};
	bool                  drawn = false;
	if (!account->row.webhooks) return OK;
	for (unsigned i = 0; i < account->webhooks->count; i++) {
		const struct account_webhook *webhook = account->webhooks->of[i];
		if (!(webhook->kinds & 1u << kind)) continue;
		if (!drawn) {
			row.event = uuid_draw(request);
			drawn = true;
		}
		row.subscription = webhook->id;
		row.generation = webhook->generation;
		enum err err = delivery_put(request->view, &row);
		if (err) return err;
	}
	return OK;
}
