/* template list: the operator's files, each with its id in front, oldest first. */
#include "actors/shard/list/list_out.h"
#include "store/keys.h"

static enum err show(struct request *request, uint32_t number, struct buffer *room, struct buffer *out)
{
	struct row_key  key = key_u32(request->account->id, number);
	struct view_row row;
	char            id[TEMPLATE_ID_TEXT];
	enum err        err = view_whole_from(request->view, TABLE_TEMPLATE, key_span(&key), room, &row);
	if (err == ERR_NOT_FOUND || (!err && !span_equal(row.key, key_span(&key)))) return ERR_DAMAGED;
	if (err) return err;
	template_id_text(request->account->id, number, id);
	size_t begin = bin_begin(out);
	buffer_text(out, "{\"pass_template_id\":\"");
	buffer_text(out, id);
	buffer_text(out, "\",");
	/* "{…}", never empty inside: a name is required. */
	buffer_append(out, row.value.at + 1, row.value.size - 1);
	bin_end(out, begin);
	return OK;
}

enum err on_TEMPLATE_LIST(struct request *request, struct outcome *outcome)
{
	struct list_out list;
	struct buffer   room = {0};
	uint32_t        count = request->account->templates->count;
	enum err        err = OK;
	list_begin(&list, outcome);
	for (uint32_t number = 1; !err && number <= count; number++)
		err = show(request, number, &room, list_item(&list));
	if (!err) err = list_end(&list, count, false);
	list_drop(&list);
	buffer_free(&room);
	return err;
}
