/* Rows of the tables READER, READER_NUMBER and READER_NAME. */
#include "store/reader_row.h"

#include "schemas/bytes.h"
#include "store/keys.h"

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
	if (value.size != READER_VALUE_BYTES) return ERR_DAMAGED;
	row->number = get_le32(value.at);
	row->scans = get_le32(value.at + 4);
	return row->number ? OK : ERR_DAMAGED;
}

enum err reader_name_read(struct span value, struct reader_row *row)
{
	if (value.size <= READER_NAME_HEAD_BYTES) return ERR_DAMAGED;
	row->number = get_le32(value.at);
	row->named = true;
	row->named_at.v = (int64_t)get_le64(value.at + 4);
	row->name = span_of(value.at + READER_NAME_HEAD_BYTES, value.size - READER_NAME_HEAD_BYTES);
	return row->number && row->name.size <= READER_NAME_BYTES_MAX ? OK : ERR_DAMAGED;
}

enum err reader_row_find(struct view *view, struct account_id account, struct span id, struct reader_row *row)
{
	struct row_key key = key_reader(account, id);
	struct span    value;
	enum err       err = view_get(view, TABLE_READER, key_span(&key), &value);
	*row = (struct reader_row){.id = id};
	if (err || (err = reader_row_read(value, row))) return err;
	uint32_t number = row->number;
	err = view_get(view, TABLE_READER_NAME, key_span(&key), &value);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	err = reader_name_read(value, row);
	return err || row->number == number ? err : ERR_DAMAGED;
}

enum err reader_row_get(struct view *view, struct account_id account, uint32_t number, struct reader_row *row)
{
	struct row_key key = key_u32(account, number);
	struct span    id;
	enum err       err = view_get(view, TABLE_READER_NUMBER, key_span(&key), &id);
	if (!err && (id.size == 0 || id.size > READER_ID_BYTES_MAX)) err = ERR_DAMAGED;
	if (!err) err = reader_row_find(view, account, id, row);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return row->number == number ? OK : ERR_DAMAGED;
}

static enum err put_name(struct view *view, const struct row_key *key, const struct reader_row *row)
{
	uint8_t value[READER_NAME_HEAD_BYTES + READER_NAME_BYTES_MAX];
	must(row->name.size && row->name.size <= READER_NAME_BYTES_MAX);
	put_le32(value, row->number);
	put_le64(value + 4, (uint64_t)row->named_at.v);
	memcpy(value + READER_NAME_HEAD_BYTES, row->name.at, row->name.size);
	return view_put(view, TABLE_READER_NAME, key,
	                span_of(value, READER_NAME_HEAD_BYTES + row->name.size));
}

enum err reader_row_put(struct view *view, struct account_id account, const struct reader_row *row)
{
	struct row_key id = key_reader(account, row->id), number = key_u32(account, row->number);
	enum err       err = view_put(view, TABLE_READER_NUMBER, &number, row->id);
	if (!err && row->named) err = put_name(view, &id, row);
	return err ? err : reader_row_count(view, account, row);
}

enum err reader_row_count(struct view *view, struct account_id account, const struct reader_row *row)
{
	struct row_key key = key_reader(account, row->id);
	uint8_t        value[READER_VALUE_BYTES];
	must(row->number);
	put_le32(value, row->number);
	put_le32(value + 4, row->scans);
	return view_put(view, TABLE_READER, &key, span_of(value, sizeof value));
}

enum err reader_row_del(struct view *view, struct account_id account, const struct reader_row *row)
{
	struct row_key id = key_reader(account, row->id), number = key_u32(account, row->number);
	must(!row->named);
	enum err err = view_del(view, TABLE_READER, &id);
	return err ? err : view_del(view, TABLE_READER_NUMBER, &number);
}

enum err reader_name_del(struct view *view, struct account_id account, struct reader_row *row)
{
	struct row_key id = key_reader(account, row->id);
	must(row->named);
	row->named = false;
	enum err err = view_del(view, TABLE_READER_NAME, &id);
	return err || row->scans ? err : reader_row_del(view, account, row);
}

enum err reader_name_next(struct view *view, struct account_id account, struct reader_row *row)
{
	struct row_key  begin = key_account(account), key = key_reader(account, row->id);
	struct view_row found;
	key.bytes[key.size++] = 0; /* the least key after its own; no id begins with it */
	enum err err = view_from(view, TABLE_READER_NAME, key_span(&key), &found);
	if (err) return err;
	if (!key_has_prefix(found.key, key_span(&begin))) return ERR_NOT_FOUND;
	row->id = span_of(found.key.at + begin.size, found.key.size - begin.size);
	return row->id.size <= READER_ID_BYTES_MAX ? reader_name_read(found.value, row) : ERR_DAMAGED;
}
