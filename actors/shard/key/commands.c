/* The commands of keys. */
#include "actors/shard/key/key.h"
#include "actors/shard/list/list_out.h"
#include "schemas/api/key.h"

/* key create: makes one more key for an account. */
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

/* key list: all keys of an account, revoked ones too, the oldest first. */
enum err on_KEY_LIST(struct request *request, struct outcome *outcome)
{
	struct list_out list;
	struct key_row  key = {0};
	enum err        err = OK;
	list_begin(&list, outcome);
	while (!list.err && !(err = key_row_next(request->view, request->account->id, &key))) {
		msgpack_packer pk = buffer_packer(list_item(&list));
		key_pack(&key, &pk);
	}
	if (!err || err == ERR_NOT_FOUND) err = list_end(&list, 0, false);
	list_drop(&list);
	return err;
}

/* key revoke: the key stops working with the commit. Revoking again keeps the first time. */
enum err on_KEY_REVOKE(struct request *request, struct outcome *outcome)
{
	struct uuid    id;
	struct key_row key = {0};
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = arg_uuid(&request->args[ARG_KEY_REVOKE_key_id], &id);
	do {
		if (err || (err = key_row_next(request->view, request->account->id, &key)))
			return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
	} while (!uuid_same(key.id, id));
	if (!key.revoked.v) {
		key.revoked = request->now;
		err = key_row_put(request->view, request->account->id, &key);
	}
	if (!err) key_pack(&key, &pk);
	return err;
}
