/* Keeps a call. The codec is the cheapest deep copy of its arguments. */
#include "actors/shard/engine/saved_call.h"

#include "schemas/fields.h"

static enum err keep_request_id(struct saved_call *kept)
{
	struct span id = kept->call.request_id;
	if (!id.size) return OK;
	void *copy = msgpack_zone_malloc_no_align(kept->zone, id.size);
	if (!copy) return ERR_NO_MEMORY;
	memcpy(copy, id.at, id.size);
	kept->call.request_id.at = copy;
	return OK;
}

static enum err keep_idempotency(struct saved_call *kept)
{
	if (!kept->call.idempotency) return OK;
	struct idempotency *copy = msgpack_zone_malloc(kept->zone, sizeof *copy);
	if (!copy) return ERR_NO_MEMORY;
	*copy = *kept->call.idempotency;
	kept->call.idempotency = copy;
	return OK;
}

enum err saved_call_make(struct saved_call *kept, const struct call *call)
{
	unsigned        count;
	size_t          at = 0;
	msgpack_object *root;
	*kept = (struct saved_call){.call = *call, .zone = msgpack_zone_new(1024)};
	msgpack_packer pk = buffer_packer(&kept->bytes);
	(void)message_fields(call->message, &count);
	msgpack_pack_array(&pk, count);
	for (unsigned i = 0; i < count; i++)
		msgpack_pack_object(&pk, call->args[i]);
	if (!kept->zone || kept->bytes.failed) return ERR_NO_MEMORY;
	if (!(root = msgpack_zone_malloc(kept->zone, sizeof *root))) return ERR_NO_MEMORY;
	if (msgpack_unpack((const char *)kept->bytes.at, kept->bytes.size, &at, kept->zone, root) !=
	    MSGPACK_UNPACK_SUCCESS)
		return ERR_NO_MEMORY;
	kept->call.args = root->via.array.ptr;
	enum err err = keep_request_id(kept);
	return err ? err : keep_idempotency(kept);
}

void saved_call_free(struct saved_call *kept)
{
	if (kept->zone) msgpack_zone_free(kept->zone);
	buffer_free(&kept->bytes);
	kept->zone = NULL;
}
