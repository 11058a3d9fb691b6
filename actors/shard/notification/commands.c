/* The commands on notifications that are not lists. */
#include "actors/shard/notification/notification.h"
#include "actors/shard/audience/audience.h"
#include "actors/shard/command.h"
#include "schemas/object_msgpack.h"
#include "actors/shard/pass/pass.h"
#include "schemas/api/notification.h"
#include "store/notification.h"

/* notification schedule ACCOUNT: to a pass or an audience, at a time; a past time is due at once. */
static enum err take_pass(struct request *request, struct notification *row)
{
	struct hot_at pass;
	struct span   pass_id = arg_span(&request->args[ARG_NOTIFICATION_SCHEDULE_pass_id]);
	enum err      err = pass_find(request, pass_id, false, &pass);
	if (err) return err;
	row->pass_number = pass.number;
	return OK;
}

static enum err take_audience(struct request *request, struct notification *row)
{
	row->to_audience = true;
	return audience_find(request, &request->args[ARG_NOTIFICATION_SCHEDULE_audience_id], &row->audience);
}

enum err on_NOTIFICATION_SCHEDULE(struct request *request, struct outcome *outcome)
{
	const msgpack_object     *args = request->args;
	struct notification       row = {.created = request->now,
	                                 .message = arg_span(&args[ARG_NOTIFICATION_SCHEDULE_message])};
	wall_us                   at = {arg_integer(&args[ARG_NOTIFICATION_SCHEDULE_scheduled_at], 0)};
	bool                      to_pass = arg_present(&args[ARG_NOTIFICATION_SCHEDULE_pass_id]);
	struct notification_tally tally;
	bool                      to_audience = arg_present(&args[ARG_NOTIFICATION_SCHEDULE_audience_id]);
	msgpack_packer            pk = buffer_packer(outcome->payload);
	if (to_pass == to_audience) return refuse(outcome, REASON(ONE_RECIPIENT, "audience_id"));
	if (!notification_message_is_good(row.message))
		return refuse(outcome, REASON(MESSAGE_TEXT, "message", .most = NOTIFICATION_CODE_POINTS_MAX));
	enum err err = to_pass ? take_pass(request, &row) : take_audience(request, &row);
	if (err) return err;
	row.id = uuid_draw(request);
	if ((err = notification_tally_get(request->view, request->account->id, &tally))) return err;
	if ((err = notification_add(request->view, request->account->id, &row, at))) return err;
	if (to_pass && at.v <= request->now.v) /* later ones go to wallets when they are sent */
		err = notification_show_at_once(request, &row, tally.made);
	if (err) return err;
	pack_id(&pk, row.id);
	return OK;
}

/* notification cancel ACCOUNT ID: a notification that is still scheduled leaves all lists and is not sent. */
enum err on_NOTIFICATION_CANCEL(struct request *request, struct outcome *outcome)
{
	struct account_id         account = request->account->id;
	struct notification_state state;
	struct uuid               id;
	uint32_t                  number;
	msgpack_packer            pk = buffer_packer(outcome->payload);
	enum err err = arg_uuid(&request->args[ARG_NOTIFICATION_CANCEL_notification_id], &id);
	if (!err) err = notification_find(request->view, account, id, &number);
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
