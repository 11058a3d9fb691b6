/* key list: all keys of an account, revoked ones too, oldest first. */
#include "actors/shard/key/key.h"

enum err on_KEY_LIST(struct request *request, struct outcome *outcome)
{
	struct key_row key = {0};
	struct buffer  items = {0};
	uint32_t       count = 0;
	enum err       err;
	msgpack_packer pk = buffer_packer(outcome->payload), item = buffer_packer(&items);
	while (!(err = key_row_next(request->view, request->account->id, &key))) {
		key_pack(&key, &item);
		count++;
	}
	msgpack_pack_array(&pk, count);
	buffer_append(outcome->payload, items.at, items.size);
	bool failed = items.failed;
	buffer_free(&items);
	if (err != ERR_NOT_FOUND) return err;
	return failed ? ERR_NO_MEMORY : OK;
}
