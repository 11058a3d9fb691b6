/* Rows of the tables READER and READER_NUMBER. */
#include "store/reader_row.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { ROW_VERSION = 1, HEAD_BYTES = 12, NUMBER_BYTES = 4 };
_Static_assert((int)READER_ROW_BYTES_MAX <= (int)ROW_BYTES_MAX, "a row is in one piece");
_Static_assert((int)READER_ID_BYTES_MAX <= (int)NAME_KEY_BYTES_MAX, "a key has room for an id");

static struct row_key key_reader(struct account_id account, struct span id)
{
	struct row_key key = key_account(account);
	must(id.size <= READER_ID_BYTES_MAX);
	if (id.size) memcpy(key.bytes + key.size, id.at, id.size);
	key.size += id.size;
	return key;
}

enum err reader_row_read(struct span value, struct reader_row *row)
{
	const uint8_t *at = value.at;
	if (value.size < HEAD_BYTES || at[0] != ROW_VERSION || at[1] > 1) return ERR_DAMAGED;
	size_t id_size = get_le16(at + 2);
	if (id_size == 0 || id_size > READER_ID_BYTES_MAX || id_size > value.size - HEAD_BYTES)
		return ERR_DAMAGED;
	row->named = at[1];
	row->named_at.v = (int64_t)get_le64(at + 4);
	row->id = span_of(at + HEAD_BYTES, id_size);
	row->name = span_of(at + HEAD_BYTES + id_size, value.size - HEAD_BYTES - id_size);
	bool fits = row->name.size <= READER_NAME_BYTES_MAX;
	return fits && row->named == (row->name.size > 0) ? OK : ERR_DAMAGED;
}

enum err reader_row_get(struct view *view, struct account_id account, uint32_t number, struct reader_row *row)
{
	struct row_key key = key_u32(account, number);
	struct span    value;
	enum err       err = view_get(view, TABLE_READER_NUMBER, key_span(&key), &value);
	row->number = number;
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return reader_row_read(value, row);
}

enum err reader_row_find(struct view *view, struct account_id account, struct span id, struct reader_row *row)
{
	struct row_key key = key_reader(account, id);
	struct span    value;
	enum err       err = view_get(view, TABLE_READER, key_span(&key), &value);
	if (err) return err;
	return value.size == NUMBER_BYTES ? reader_row_get(view, account, get_le32(value.at), row)
	                                  : ERR_DAMAGED;
}

enum err reader_row_put(struct view *view, struct account_id account, const struct reader_row *row)
{
	struct row_key id = key_reader(account, row->id), number = key_u32(account, row->number);
	uint8_t        value[READER_ROW_BYTES_MAX] = {ROW_VERSION, row->named}, text[NUMBER_BYTES];
	must(row->number && row->name.size <= READER_NAME_BYTES_MAX && row->named == (row->name.size > 0));
	put_le16(value + 2, (uint16_t)row->id.size);
	put_le64(value + 4, (uint64_t)row->named_at.v);
	memcpy(value + HEAD_BYTES, row->id.at, row->id.size);
	if (row->name.size) memcpy(value + HEAD_BYTES + row->id.size, row->name.at, row->name.size);
	put_le32(text, row->number);
	struct span whole = span_of(value, HEAD_BYTES + row->id.size + row->name.size);
	enum err    err = write_put(view_writes(view), TABLE_READER_NUMBER, key_span(&number), whole);
	if (err) return err;
	return write_put(view_writes(view), TABLE_READER, key_span(&id), span_of(text, sizeof text));
}

enum err reader_row_next(struct view *view, struct account_id account, struct reader_row *row)
{
	struct row_key  begin = key_account(account), key = key_reader(account, row->id);
	struct view_row found;
	key.bytes[key.size++] = 0; /* the least key after its own; no id begins with it */
	enum err err = view_from(view, TABLE_READER, key_span(&key), &found);
	if (err) return err;
	if (!key_has_prefix(found.key, key_span(&begin))) return ERR_NOT_FOUND;
	if (found.value.size != NUMBER_BYTES) return ERR_DAMAGED;
	struct span id = span_of(found.key.at + begin.size, found.key.size - begin.size);
	err = reader_row_get(view, account, get_le32(found.value.at), row);
	return err || span_equal(row->id, id) ? err : ERR_DAMAGED;
}
