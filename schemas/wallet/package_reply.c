/* The reply to WALLET_PACKAGE and WALLET_PASS, written and read by position. It comes from a peer: sizes are range-checked here. */
#include "schemas/wallet/package_reply.h"

enum { ITEMS = 9, ITEMS_REFUSED = 1 };

void package_reply_pack(const struct package_reply *reply, struct buffer *out)
{
	msgpack_packer pk = buffer_packer(out);
	bool           made = reply->fate == PACKAGE_MADE;
	msgpack_pack_array(&pk, made ? ITEMS : ITEMS_REFUSED);
	msgpack_pack_unsigned_int(&pk, reply->fate);
	if (!made) return;
	pack_bin(&pk, span_of(reply->kit.hash, sizeof reply->kit.hash));
	msgpack_pack_uint32(&pk, reply->kit.count);
	msgpack_pack_uint32(&pk, reply->kit.local_size);
	msgpack_pack_uint32(&pk, reply->kit.central_size);
	pack_bin(&pk, reply->own.pass_json);
	pack_bin(&pk, reply->own.manifest);
	pack_bin(&pk, reply->own.signature);
	msgpack_pack_uint32(&pk, reply->modified_s);
}

static bool take_number(const msgpack_object *item, uint32_t most, uint32_t *number)
{
	if (item->type != MSGPACK_OBJECT_POSITIVE_INTEGER || item->via.u64 > most) return false;
	*number = (uint32_t)item->via.u64;
	return true;
}

static bool take_bytes(const msgpack_object *item, struct span *bytes)
{
	if (item->type != MSGPACK_OBJECT_BIN) return false;
	*bytes = arg_span(item);
	return true;
}

static bool take_package(const msgpack_object *items, struct package_reply *reply)
{
	struct span hash;
	if (!take_bytes(&items[1], &hash) || hash.size != sizeof reply->kit.hash) return false;
	memcpy(reply->kit.hash, hash.at, hash.size);
	return take_number(&items[2], PACKAGE_PICTURES_MAX, &reply->kit.count) &&
	       take_number(&items[3], PACKAGE_KIT_BYTES_MAX, &reply->kit.local_size) &&
	       take_number(&items[4], PACKAGE_KIT_BYTES_MAX, &reply->kit.central_size) &&
	       take_bytes(&items[5], &reply->own.pass_json) && take_bytes(&items[6], &reply->own.manifest) &&
	       take_bytes(&items[7], &reply->own.signature) &&
	       take_number(&items[8], UINT32_MAX, &reply->modified_s);
}

enum err package_reply_open(const msgpack_object *payload, struct package_reply *reply)
{
	uint32_t fate;
	*reply = (struct package_reply){.fate = PACKAGE_NEVER};
	if (payload->type != MSGPACK_OBJECT_ARRAY || !payload->via.array.size) return ERR_MALFORMED;
	const msgpack_object *items = payload->via.array.ptr;
	if (!take_number(&items[0], PACKAGE_FATES - 1, &fate)) return ERR_MALFORMED;
	reply->fate = (enum package_fate)fate;
	bool     made = fate == PACKAGE_MADE;
	uint32_t count = made ? ITEMS : ITEMS_REFUSED;
	if (payload->via.array.size != count) return ERR_MALFORMED;
	return !made || take_package(items, reply) ? OK : ERR_MALFORMED;
}
