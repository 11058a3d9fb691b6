/* template list: the operator's files, each with its id in front, oldest first. */
#include "actors/shard/list/list_out.h"
#include "store/keys.h"

static void show(struct request *request, uint32_t number, struct span text, struct buffer *out)
{
	char id[TEMPLATE_ID_TEXT];
	template_id_text(request->account->id, number, id);
	size_t begin = bin_begin(out);
	buffer_text(out, "{\"pass_template_id\":\"");
	buffer_text(out, id);
	buffer_text(out, "\",");
	/* "{…}", never empty inside: a name is required. */
	buffer_append(out, text.at + 1, text.size - 1);
	bin_end(out, begin);
}

enum err on_TEMPLATE_LIST(struct request *request, struct outcome *outcome)
{
	struct row_key  account = key_account(request->account->id);
	struct list_out list;
	struct view_row row;
	struct buffer   room = {0};
	uint32_t        count = 0;
	enum err        err = view_whole_from(request->view, TABLE_TEMPLATE, key_span(&account), &room, &row);
	list_begin(&list, outcome);
	while (!err && key_has_prefix(row.key, key_span(&account))) {
		if (row.key.size != account.size + 4 || row.value.size < 2) err = ERR_DAMAGED;
		if (err) break;
		show(request, get_be32(row.key.at + account.size), row.value, list_item(&list));
		count++;
		if (!(err = list_may_go_on(&list, request)))
			err = view_whole_next(request->view, TABLE_TEMPLATE, &room, &row);
	}
	if (!err || err == ERR_NOT_FOUND) err = list_end(&list, count, false);
	list_drop(&list);
	buffer_free(&room);
	return err;
}
