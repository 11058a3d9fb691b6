/* Creates a notification. */
#include "actors/shard/notification/notification.h"

#include "actors/shard/wallet/message.h"
#include "schemas/fold.h"

bool notification_message_is_good(struct span message)
{
	return message.size && utf8_length(message) <= NOTIFICATION_CODE_POINTS_MAX;
}

enum err notification_show_at_once(struct request *request, const struct notification *row, uint32_t number)
{
	struct account_id          account = request->account->id;
	const struct wallet_notice notice = {.pass_number = row->pass_number,
	                                     .notification = number,
	                                     .text = row->message,
	                                     .sent = request->now};
	bool                       is_wanted;
	enum err                   err = wallet_message_is_wanted(request, row->pass_number, &is_wanted);
	if (err || !is_wanted) return err;
	if ((err = notification_end(request->view, account, number, NOTIFICATION_SENT, request->now)))
		return err;
	return wallet_message_to_pass(request, &notice);
}

enum err notify_pass(struct request *request, uint32_t pass_number, struct span message)
{
	struct notification row = {.pass_number = pass_number, .created = request->now, .message = message};
	struct notification_tally tally;
	enum err                  err = notification_tally_get(request->view, request->account->id, &tally);
	row.id = uuid_draw(request);
	if (!err) err = notification_add(request->view, request->account->id, &row, request->now);
	return err ? err : notification_show_at_once(request, &row, tally.made);
}
