/* Rows of the table AUDIENCE. */
#include "store/audience.h"

#include "schemas/buffer.h"
#include "store/keys.h"

enum { ROW_VERSION = 1, AT_NAME = 11 };

enum err audience_read(struct span value, struct audience *row)
{
	if (value.size < AT_NAME || value.at[0] != ROW_VERSION) return ERR_DAMAGED;
	size_t name = get_le16(value.at + 9), rest = value.size - AT_NAME;
	if (name > rest || (rest - name) % 4) return ERR_DAMAGED;
	row->created.v = (int64_t)get_le64(value.at + 1);
	row->name = span_of(value.at + AT_NAME, name);
	row->stored = span_of(value.at + AT_NAME + name, rest - name);
	row->count = (uint32_t)(row->stored.size / 4);
	row->passes = NULL;
	for (uint32_t i = 1; i < row->count; i++)
		if (audience_pass(row, i) <= audience_pass(row, i - 1)) return ERR_DAMAGED;
	return OK;
}

uint32_t audience_pass(const struct audience *row, uint32_t index)
{
	return get_le32(row->stored.at + (size_t)4 * index);
}

void audience_write(const struct audience *row, struct buffer *value)
{
	uint8_t head[AT_NAME] = {ROW_VERSION}, number[4];
	put_le64(head + 1, (uint64_t)row->created.v);
	put_le16(head + 9, (uint16_t)row->name.size);
	buffer_append(value, head, sizeof head);
	buffer_append(value, row->name.at, row->name.size);
	for (uint32_t i = 0; i < row->count; i++) {
		put_le32(number, row->passes[i]);
		buffer_append(value, number, sizeof number);
	}
}

enum err audience_row_get(struct view *view, struct account_id account, struct uuid id, struct audience *row)
{
	struct row_key key = key_uuid(account, id);
	struct span    value;
	enum err       err = view_get(view, TABLE_AUDIENCE, key_span(&key), &value);
	row->id = id;
	return err ? err : audience_read(value, row);
}

enum err audience_row_exists(struct view *view, struct account_id account, struct uuid id)
{
	struct row_key key = key_uuid(account, id);
	return view_exists(view, TABLE_AUDIENCE, key_span(&key));
}

enum err audience_row_put(struct view *view, struct account_id account, const struct audience *row)
{
	struct row_key key = key_uuid(account, row->id);
	struct buffer  value = {0};
	audience_write(row, &value);
	enum err err = value.failed ? ERR_NO_MEMORY
	                            : write_put(view_writes(view), TABLE_AUDIENCE, key_span(&key),
	                                        buffer_span(&value));
	buffer_free(&value);
	return err;
}
