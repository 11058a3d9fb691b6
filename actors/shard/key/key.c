/* API keys: a hash, and when it came and went. The secret itself is nowhere. */
#include "actors/shard/key/key.h"

#include "schemas/date.h"

enum err key_make(struct request *request, struct span hash, struct key_row *key)
{
	*key = (struct key_row){.id = uuid_draw(request), .created = request->now};
	must(hash.size ==
	     sizeof key->hash); /* fields.h says so, and the engine has held the call against it */
	memcpy(key->hash, hash.at, sizeof key->hash);
	return key_row_put(request->view, request->call->account, key);
}

void key_pack(const struct key_row *key, msgpack_packer *pk)
{
	char id[UUID_TEXT], created[RFC3339_TEXT], revoked[RFC3339_TEXT];
	uuid_text(key->id, id);
	rfc3339_text(key->created, created);
	rfc3339_text(key->revoked, revoked);
	msgpack_pack_map(pk, 3);
	pack_text(pk, "key_id");
	pack_text(pk, id);
	pack_text(pk, "created_at");
	pack_text(pk, created);
	pack_text(pk, "revoked_at");
	if (key->revoked.v)
		pack_text(pk, revoked);
	else
		msgpack_pack_nil(pk);
}
