/* API keys: a hash, and when it came and went. The secret itself is nowhere. */
#include "actors/shard/key/key.h"

enum err key_make(struct request *request, struct span hash, struct key_row *key)
{
	*key = (struct key_row){.id = uuid_draw(request), .created = request->now};
	must(hash.size ==
	     sizeof key->hash); /* fields/key.h says so, and the engine has held the call against it */
	memcpy(key->hash, hash.at, sizeof key->hash);
	return key_row_put(request->view, request->call->account, key);
}

void key_pack(const struct key_row *key, msgpack_packer *pk)
{
	msgpack_pack_map(pk, 3);
	pack_uuid(pk, "key_id", key->id);
	pack_time(pk, "created_at", key->created);
	if (key->revoked.v)
		pack_time(pk, "revoked_at", key->revoked);
	else
		pack_null(pk, "revoked_at");
}
