/* account show */
#include "actors/shard/account/facts.h"

enum err on_ACCOUNT_SHOW(struct request *request, struct outcome *outcome)
{
	msgpack_packer pk = buffer_packer(outcome->payload);
	account_pack(request->account->id, &request->account->row, &pk);
	return OK;
}
