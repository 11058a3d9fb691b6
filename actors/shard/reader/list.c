/* reader list ACCOUNT: those that the operator gave a name, in the order of their ids. */
#include "actors/shard/list_out.h"
#include "actors/shard/reader/reader.h"
#include "schemas/date.h"

static void pack_reader(const struct reader_row *row, struct buffer *out)
{
	msgpack_packer pk = buffer_packer(out);
	char           created[RFC3339_TEXT];
	rfc3339_text(row->named_at, created);
	msgpack_pack_map(&pk, 3);
	pack_text(&pk, "id");
	pack_str(&pk, row->id);
	pack_text(&pk, "name");
	pack_str(&pk, row->name);
	pack_text(&pk, "created_at");
	pack_text(&pk, created);
}

enum err on_READER_LIST(struct request *request, struct outcome *outcome)
{
	struct list_out   list;
	struct reader_row row = {.number = 0};
	uint64_t          count = 0;
	enum err          err;
	list_begin(&list, outcome);
	while (!(err = reader_row_next(request->view, request->account->id, &row))) {
		if (!row.named) continue;
		pack_reader(&row, list_item(&list));
		count++;
	}
	err = err == ERR_NOT_FOUND ? list_end(&list, count, false) : err;
	list_drop(&list);
	return err;
}
