/* reader list ACCOUNT: those that the operator gave a name, in the order of their ids. */
#include "actors/shard/list/list_out.h"
#include "actors/shard/reader/reader.h"

static void pack_reader(const struct reader_row *row, struct buffer *out)
{
	msgpack_packer pk = buffer_packer(out);
	msgpack_pack_map(&pk, 3);
	pack_member(&pk, "id", row->id);
	pack_member(&pk, "name", row->name);
	pack_time(&pk, "created_at", row->named_at);
}

enum err on_READER_LIST(struct request *request, struct outcome *outcome)
{
	struct list_out   list;
	struct reader_row row = {.number = 0};
	uint64_t          count = 0;
	enum err          err = OK;
	list_begin(&list, outcome);
	while (!list.err && !(err = reader_name_next(request->view, request->account->id, &row))) {
		pack_reader(&row, list_item(&list));
		count++;
	}
	if (!err || err == ERR_NOT_FOUND) err = list_end(&list, count, false);
	list_drop(&list);
	return err;
}
