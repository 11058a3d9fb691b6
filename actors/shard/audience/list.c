/* audience list ACCOUNT: the oldest first. */
#include "actors/shard/list/list_out.h"
#include "store/audience.h"

static void pack_audience(const struct audience *row, struct buffer *out)
{
	msgpack_packer pk = buffer_packer(out);
	msgpack_pack_map(&pk, 4);
	pack_uuid(&pk, "audience_id", row->id);
	pack_member(&pk, "name", row->name);
	pack_text(&pk, "pass_count");
	msgpack_pack_uint32(&pk, row->count);
	pack_time(&pk, "created_at", row->created);
}

enum err on_AUDIENCE_LIST(struct request *request, struct outcome *outcome)
{
	struct list_out list;
	struct audience row = {.count = 0};
	struct buffer   room = {0};
	uint64_t        count = 0;
	enum err        err = OK;
	list_begin(&list, outcome);
	while (!err && !(err = audience_next(request->view, request->account->id, &room, &row))) {
		pack_audience(&row, list_item(&list));
		count++;
		err = list_may_go_on(&list, request);
	}
	if (err == ERR_NOT_FOUND) err = list_end(&list, count, false);
	list_drop(&list);
	buffer_free(&room);
	return err;
}
