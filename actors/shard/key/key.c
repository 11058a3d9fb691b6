/* API keys: the hash of each, and when it was created and revoked. The key itself is not stored. */
#include "actors/shard/key/key.h"
#include "schemas/object_msgpack.h"

enum err key_make(struct request *request, struct span hash, struct key_row *key)
{
	*key = (struct key_row){.id = uuid_draw(request), .created = request->now};
	must(hash.size == sizeof key->hash); /* the engine has checked it by schemas/api/key.def */
	memcpy(key->hash, hash.at, sizeof key->hash);
	return key_row_put(request->view, request->call->account, key);
}

void key_pack(const struct key_row *key, msgpack_packer *pk)
{
	size_t map = map_begin(pk);
	MEMBER_ALWAYS(key_id, UUID, key->id);
	MEMBER_ALWAYS(created_at, TIME, key->created);
	MEMBER_NULLABLE(revoked_at, TIME, key->revoked.v, key->revoked);
}
