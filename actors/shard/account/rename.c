/* account rename: another name for people; nothing refers to an account by its name. */
#include "actors/shard/account/facts.h"
#include "schemas/api/account.h"

enum err on_ACCOUNT_RENAME(struct request *request, struct outcome *outcome)
{
	struct account_row row = request->account->row;
	msgpack_packer     pk = buffer_packer(outcome->payload);
	row.name = arg_span(&request->args[ARG_ACCOUNT_RENAME_name]);
	enum err err = account_row_put(request->view, request->account->id, &row);
	if (!err) account_pack(request->account->id, &row, &pk);
	return err;
}
