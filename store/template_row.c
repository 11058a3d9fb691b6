/* Rows of the table TEMPLATE. */
#include "store/template_row.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum {
	VERSION = 2,
	AT_GENERATION = 1,
	AT_LOOK = 5,
	AT_CHANGED = 9,
	HEAD_BYTES = AT_CHANGED + 8,
	HEAD_BYTES_1 = AT_LOOK, /* of version 1 */
	TEXT_BYTES_MIN = 2
};

enum err template_row_read(struct span value, struct template_row *row)
{
	*row = (struct template_row){.generation = 1, .text = value};
	if (value.size < TEXT_BYTES_MIN) return ERR_DAMAGED;
	if (value.at[0] == '{') return OK;
	size_t head = value.at[0] == 1 ? HEAD_BYTES_1 : HEAD_BYTES;
	if (value.at[0] < 1 || value.at[0] > VERSION || value.size < head + TEXT_BYTES_MIN)
		return ERR_DAMAGED;
	row->generation = get_le32(value.at + AT_GENERATION);
	row->text = span_of(value.at + head, value.size - head);
	if (value.at[0] == VERSION) {
		row->look = get_le32(value.at + AT_LOOK);
		row->changed.v = (int64_t)get_le64(value.at + AT_CHANGED);
	}
	return row->generation ? OK : ERR_DAMAGED;
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
	put_le32(head + AT_GENERATION, row->generation);
	put_le32(head + AT_LOOK, row->look);
	put_le64(head + AT_CHANGED, (uint64_t)row->changed.v);
	buffer_append(&value, head, sizeof head);
	buffer_append(&value, row->text.at, row->text.size);
	enum err err = value.failed ? ERR_NO_MEMORY
	                            : write_put(view_writes(view), TABLE_TEMPLATE, key_span(&key),
	                                        buffer_span(&value));
	buffer_free(&value);
	return err;
}
