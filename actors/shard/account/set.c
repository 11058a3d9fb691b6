/* account set: changes the switches given, leaves the others. Webhooks switched off: what waits for a subscription is of
 * a generation that has passed, so that switching on again brings nothing back; whether it is active stays. */
#include "actors/shard/account/facts.h"
#include "schemas/api/account.h"

static enum err pass_generations(struct request *request)
{
	const struct account *account = request->account;
	struct subscription   row;
	enum err              err = OK;
	for (unsigned i = 0; !err && i < account->webhooks->count; i++) {
		err = subscription_get(request->view, account->id, account->webhooks->of[i]->id, &row);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		row.generation++;
		err = subscription_put(request->view, account->id, &row);
	}
	return err;
}

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
	enum err err = request->account->row.webhooks && !row.webhooks ? pass_generations(request) : OK;
	if (!err) err = account_row_put(request->view, request->account->id, &row);
	if (!err) account_pack(request->account->id, &row, &pk);
	return err;
}
