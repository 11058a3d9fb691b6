/* key create: a further key of an account. */
#include "actors/shard/key/key.h"
#include "schemas/api/key.h"

enum err on_KEY_CREATE(struct request *request, struct outcome *outcome)
{
	struct key_row key;
	msgpack_packer pk = buffer_packer(outcome->payload);
	if (request->account->keys->count >= KEYS_PER_ACCOUNT_MAX)
		return refuse(outcome, REASON_OF_ALL(KEYS_FULL, .most = KEYS_PER_ACCOUNT_MAX));
	enum err err = key_make(request, arg_span(&request->args[ARG_KEY_CREATE_key_hash]), &key);
	if (!err) key_pack(&key, &pk);
	return err;
}
