/* Lists in parts, so that a page of large passes needs neither a giant message nor a second pass. */
#include "actors/shard/list/list_out.h"
#include "actors/rt/time.h"

void list_begin(struct list_out *list, struct outcome *outcome)
{
	*list = (struct list_out){.outcome = outcome};
}

static void pack_items(struct list_out *list)
{
	msgpack_packer pk = buffer_packer(list->outcome->payload);
	msgpack_pack_array(&pk, list->count);
	buffer_append(list->outcome->payload, list->items.at, list->items.size);
	if (!list->err && (list->items.failed || list->outcome->payload->failed)) list->err = ERR_NO_MEMORY;
	buffer_clear(&list->items);
	list->count = 0;
}

struct buffer *list_item(struct list_out *list)
{
	if (list->items.size >= REPLY_PART_BYTES_MAX) {
		pack_items(list);
		list->sent += list->outcome->payload->size;
		if (!list->err)
			list->err = list->outcome->part(list->outcome->part_user, list->outcome->payload);
		buffer_clear(list->outcome->payload);
	}
	list->count++;
	return &list->items;
}

enum err list_may_go_on(const struct list_out *list, const struct request *request)
{
	bool is_late = request->call->deadline.v <= time_mono().v;
	if (list->err) return list->err;
	return is_late || list->sent >= LIST_BYTES_MAX ? ERR_OVERLOADED : OK;
}

enum err list_end(struct list_out *list, uint64_t total, bool has_more)
{
	msgpack_packer pk = buffer_packer(list->outcome->payload);
	msgpack_pack_array(&pk, 3);
	pack_items(list);
	msgpack_pack_uint64(&pk, total);
	if (has_more)
		msgpack_pack_true(&pk);
	else
		msgpack_pack_false(&pk);
	list_drop(list);
	if (!list->err && list->outcome->payload->failed) list->err = ERR_NO_MEMORY;
	return list->err;
}

void list_drop(struct list_out *list)
{
	buffer_free(&list->items);
}

enum err send_front(struct outcome *outcome, struct span *bytes)
{
	enum err err = OK;
	while (!err && bytes->size > REPLY_PART_BYTES_MAX) {
		msgpack_packer pk = buffer_packer(outcome->payload);
		pack_bin(&pk, span_of(bytes->at, REPLY_PART_BYTES_MAX));
		*bytes = span_of(bytes->at + REPLY_PART_BYTES_MAX, bytes->size - REPLY_PART_BYTES_MAX);
		err = outcome->payload->failed ? ERR_NO_MEMORY
		                               : outcome->part(outcome->part_user, outcome->payload);
	}
	return err;
}
