/* Rows of the tables RULE and RULE_FIRED. */
#include "store/rule.h"

#include "schemas/bytes.h"
#include "store/cleanup.h"
#include "store/keys.h"

enum { ROW_VERSION = 1, HEAD_BYTES = 17 };

enum err rule_row_read(struct span value, struct rule_row *row)
{
	if (value.size <= HEAD_BYTES || value.at[0] != ROW_VERSION) return ERR_DAMAGED;
	row->created.v = (int64_t)get_le64(value.at + 1);
	row->updated.v = (int64_t)get_le64(value.at + 9);
	row->text = span_of(value.at + HEAD_BYTES, value.size - HEAD_BYTES);
	return OK;
}

enum err rule_row_get(struct view *view, struct account_id account, struct uuid id, struct rule_row *row)
{
	struct row_key key = key_uuid(account, id);
	struct span    value;
	enum err       err = view_get(view, TABLE_RULE, key_span(&key), &value);
	row->id = id;
	return err ? err : rule_row_read(value, row);
}

enum err rule_row_put(struct view *view, struct account_id account, const struct rule_row *row)
{
	struct row_key key = key_uuid(account, row->id);
	uint8_t        head[HEAD_BYTES] = {ROW_VERSION};
	struct buffer  value = {0};
	put_le64(head + 1, (uint64_t)row->created.v);
	put_le64(head + 9, (uint64_t)row->updated.v);
	buffer_append(&value, head, sizeof head);
	buffer_append(&value, row->text.at, row->text.size);
	return view_put_buffer(view, TABLE_RULE, &key, &value);
}

enum err rule_row_del(struct view *view, struct account_id account, struct uuid id)
{
	struct row_key key = key_uuid(account, id);
	return view_del(view, TABLE_RULE, &key);
}

enum err rule_row_next(struct view *view, struct account_id account, struct buffer *room,
                       struct rule_row *row)
{
	struct id_row next = {.account = account, .id = row->id};
	enum err      err = view_parted_after(view, TABLE_RULE, room, &next);
	row->id = next.id;
	return err ? err : rule_row_read(next.value, row);
}

static struct row_key key_fired(struct account_id account, struct uuid id, uint32_t number)
{
	struct row_key key = key_uuid(account, id);
	put_be32(key.bytes + key.size, number);
	key.size += 4;
	return key;
}

enum err rule_fired_get(struct view *view, struct account_id account, struct uuid id, uint32_t number,
                        bool *fired)
{
	struct row_key key = key_fired(account, id, number);
	struct span    value;
	enum err       err = view_get(view, TABLE_RULE_FIRED, key_span(&key), &value);
	*fired = !err;
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err rule_fired_put(struct view *view, struct account_id account, struct uuid id, uint32_t number)
{
	struct row_key key = key_fired(account, id, number);
	return view_put(view, TABLE_RULE_FIRED, &key, span_of(NULL, 0));
}

enum err rule_fired_clean(struct view *view, struct cleanup *row, bool *done)
{
	struct view_row found;
	struct row_key  keys[BULK_WRITES_MAX / 2];
	unsigned        count = 0, room = sizeof keys / sizeof *keys;
	struct uuid     id;
	if (row->subject_size != sizeof id) return ERR_DAMAGED;
	memcpy(id.b, row->subject, sizeof id);
	struct row_key prefix = key_uuid(row->account, id);
	enum err       err = view_from(view, TABLE_RULE_FIRED, key_span(&prefix), &found);
	while (!err && count < room && key_has_prefix(found.key, key_span(&prefix))) {
		if (found.key.size > sizeof keys->bytes) return ERR_DAMAGED;
		memcpy(keys[count].bytes, found.key.at, found.key.size);
		keys[count++].size = found.key.size;
		err = view_next(view, TABLE_RULE_FIRED, &found);
	}
	if (err && err != ERR_NOT_FOUND) return err;
	*done = count < room;
	err = OK;
	for (unsigned i = 0; !err && i < count; i++)
		err = view_del(view, TABLE_RULE_FIRED, &keys[i]);
	return err;
}
