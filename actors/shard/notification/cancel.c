/* notification cancel ACCOUNT ID: one that is still scheduled is in no list any more, and is not sent. */
#include "actors/shard/command.h"
#include "schemas/api/notification.h"
#include "store/notification.h"

enum err on_NOTIFICATION_CANCEL(struct request *request, struct outcome *outcome)
{
	struct account_id         account = request->account->id;
	struct notification_state state;
	struct uuid               id;
	uint32_t                  number;
	msgpack_packer            pk = buffer_packer(outcome->payload);
	if (!uuid_read(arg_span(&request->args[ARG_NOTIFICATION_CANCEL_notification_id]), &id))
		return ERR_RESOURCE_NOT_FOUND;
	enum err err = notification_find(request->view, account, id, &number);
	if (!err) err = notification_state_get(request->view, account, number, &state);
	if (err == ERR_NOT_FOUND || (!err && state.status == NOTIFICATION_CANCELLED))
		return ERR_RESOURCE_NOT_FOUND;
	if (err) return err;
	if (state.status != NOTIFICATION_SCHEDULED)
		return refuse(outcome,
		              REASON_OF_ALL(NOTIFICATION_ENDED,
		                            .given = span_str(notification_status_text(state.status))));
	err = notification_end(request->view, account, number, NOTIFICATION_CANCELLED, (wall_us){0});
	if (err) return err;
	msgpack_pack_map(&pk, 0);
	return OK;
}
