/* account create: the caller has drawn the id and the key; only the key's hash comes here. */
#include "actors/shard/account/facts.h"
#include "actors/shard/key/key.h"
#include "schemas/api/account.h"

enum err on_ACCOUNT_CREATE(struct request *request, struct outcome *outcome)
{
	struct account_row row = {
	    .name = arg_span(&request->args[ARG_ACCOUNT_CREATE_name]),
	    .rewards = arg_boolean(&request->args[ARG_ACCOUNT_CREATE_rewards], false),
	    .webhooks = arg_boolean(&request->args[ARG_ACCOUNT_CREATE_webhooks], false),
	    .double_scan_window_s = DOUBLE_SCAN_WINDOW_DEFAULT_S,
	    .created = request->now,
	};
	msgpack_packer    pk = buffer_packer(outcome->payload);
	struct account_id id = request->call->account;
	if (request->account) return ERR_RESOURCE_CONFLICT;
	enum err err = account_row_put(request->view, id, &row);
	if (err) return err;
	struct key_row key;
	if ((err = key_make(request, arg_span(&request->args[ARG_ACCOUNT_CREATE_key_hash]), &key)))
		return err;
	account_pack(id, &row, &pk);
	return OK;
}
