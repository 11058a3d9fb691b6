/* key revoke: from its commit on the key opens nothing. Revoking twice keeps the first time. */
#include "actors/shard/key/key.h"
#include "schemas/api/key.h"

enum err on_KEY_REVOKE(struct request *request, struct outcome *outcome)
{
	struct uuid    id;
	struct key_row key = {0};
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = OK;
	if (!uuid_read(arg_span(&request->args[ARG_KEY_REVOKE_key_id]), &id)) return ERR_RESOURCE_NOT_FOUND;
	do {
		if ((err = key_row_next(request->view, request->account->id, &key)))
			return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
	} while (memcmp(key.id.b, id.b, sizeof id.b));
	if (!key.revoked.v) {
		key.revoked = request->now;
		err = key_row_put(request->view, request->account->id, &key);
	}
	if (!err) key_pack(&key, &pk);
	return err;
}
