/* Rows of the table TEMPLATE. */
#include "store/template_row.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { VERSION = 1, AT_LOOK = 1, AT_CHANGED = 5, HEAD_BYTES = AT_CHANGED + 8, TEXT_BYTES_MIN = 2 };

enum err template_row_read(struct span value, struct template_row *row)
{
	*row = (struct template_row){.text = value};
	if (value.size < TEXT_BYTES_MIN) return ERR_DAMAGED;
	if (value.at[0] == '{') return OK;
	if (value.at[0] != VERSION || value.size < HEAD_BYTES + TEXT_BYTES_MIN) return ERR_DAMAGED;
	row->look = get_le32(value.at + AT_LOOK);
	row->changed.v = (int64_t)get_le64(value.at + AT_CHANGED);
	row->text = span_of(value.at + HEAD_BYTES, value.size - HEAD_BYTES);
	return OK;
}

enum err template_row_get(struct view *view, struct account_id account, uint32_t number,
                          struct template_row *row)
{
	struct row_key key = key_u32(account, number);
	struct span    value;
	enum err       err = view_get(view, TABLE_TEMPLATE, key_span(&key), &value);
	return err ? err : template_row_read(value, row);
}

enum err template_row_put(struct view *view, struct account_id account, uint32_t number,
                          const struct template_row *row)
{
	struct row_key key = key_u32(account, number);
	struct buffer  value = {0};
	uint8_t        head[HEAD_BYTES] = {VERSION};
	put_le32(head + AT_LOOK, row->look);
	put_le64(head + AT_CHANGED, (uint64_t)row->changed.v);
	buffer_append(&value, head, sizeof head);
	buffer_append(&value, row->text.at, row->text.size);
	return view_put_buffer(view, TABLE_TEMPLATE, &key, &value);
}
