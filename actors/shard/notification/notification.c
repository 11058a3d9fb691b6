/* Creates a notification. */
#include "actors/shard/notification/notification.h"

#include "actors/shard/wallet/message.h"
#include "schemas/fold.h"

bool notification_message_is_good(struct span message)
{
	return message.size && utf8_length(message) <= NOTIFICATION_CODE_POINTS_MAX;
}

enum err notify_pass(struct request *request, uint32_t pass_number, struct span message)
{
	struct notification row = {.pass_number = pass_number, .created = request->now, .message = message};
	struct notification_tally tally;
	enum err                  err = notification_tally_get(request->view, request->account->id, &tally);
	row.id = uuid_draw(request);
	if (!err) err = notification_add(request->view, request->account->id, &row, request->now);
	return err ? err : wallet_message_to_pass(request, pass_number, tally.made, message);
}
