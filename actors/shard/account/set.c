/* account set: changes the switches given, leaves the others. */
#include "actors/shard/account/facts.h"

enum err on_ACCOUNT_SET(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	struct account_row    row = request->account->row;
	msgpack_packer        pk = buffer_packer(outcome->payload);
	row.rewards = arg_boolean(&args[ARG_ACCOUNT_SET_rewards], row.rewards);
	row.webhooks = arg_boolean(&args[ARG_ACCOUNT_SET_webhooks], row.webhooks);
	row.suspended = arg_boolean(&args[ARG_ACCOUNT_SET_suspended], row.suspended);
	row.double_scan_window_s = (uint32_t)arg_integer(&args[ARG_ACCOUNT_SET_double_scan_window_seconds],
	                                                 row.double_scan_window_s);
	row.rate_limit = (uint32_t)arg_integer(&args[ARG_ACCOUNT_SET_rate_limit], row.rate_limit);
	enum err err = account_row_put(request->view, request->account->id, &row);
	if (!err) account_pack(request->account->id, &row, &pk);
	return err;
}
