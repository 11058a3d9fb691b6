/* Iterates over the values of a PARTED table in order. A value that fits one row, as most do, is returned in place;
 * another is joined in the caller's buffer, so that iterating over millions takes the memory of one. */
#include "store/db_inside.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { SIZE_BYTES = 4, PART_KEY_BYTES = 2 };

struct part {
	struct span key, value; /* key: without the part's number */
	unsigned    number;
};

static enum err read_part(struct view *view, enum table table, MDB_val *key, MDB_cursor_op op,
                          struct part *part)
{
	MDB_cursor *cursor;
	MDB_val     stored;
	enum err    err = view_cursor(view, table, &cursor);
	if (err) return err;
	must(table_kind(table) == KIND_PARTED && (!view->writes || view->writes->count == 0));
	if ((err = db_err(mdb_cursor_get(cursor, key, &stored, op)))) return err;
	struct span whole_key = span_of(key->mv_data, key->mv_size);
	if (whole_key.size < PART_KEY_BYTES) return ERR_DAMAGED;
	part->key = span_of(whole_key.at, whole_key.size - PART_KEY_BYTES);
	part->number = get_be16(whole_key.at + part->key.size);
	return row_checked(table, whole_key, stored, &part->value);
}

static enum err put_together(struct view *view, enum table table, const struct part *first,
                             struct buffer *room, struct view_row *row)
{
	size_t      total = get_le32(first->value.at);
	struct part part = *first;
	buffer_clear(room);
	buffer_append(room, first->value.at + SIZE_BYTES, first->value.size - SIZE_BYTES);
	for (unsigned number = 1; room->size < total && !room->failed; number++) {
		MDB_val  key = {0, NULL};
		enum err err = read_part(view, table, &key, MDB_NEXT, &part);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		if (part.number != number || !span_equal(part.key, first->key)) return ERR_DAMAGED;
		if (part.value.size == 0 || part.value.size > total - room->size) return ERR_DAMAGED;
		buffer_append(room, part.value.at, part.value.size);
	}
	*row = (struct view_row){part.key, buffer_span(room)};
	return room->failed ? ERR_NO_MEMORY : OK;
}

static enum err read_whole(struct view *view, enum table table, const struct part *first, struct buffer *room,
                           struct view_row *row)
{
	if (first->number || first->value.size < SIZE_BYTES) return ERR_DAMAGED;
	size_t total = get_le32(first->value.at), have = first->value.size - SIZE_BYTES;
	if (have > total || total > PASS_STORED_BYTES_MAX) return ERR_DAMAGED;
	if (have < total) return put_together(view, table, first, room, row);
	*row = (struct view_row){first->key, span_of(first->value.at + SIZE_BYTES, have)};
	return OK;
}

enum err view_parted_from(struct view *view, enum table table, struct span key, struct buffer *room,
                          struct view_row *row)
{
	struct part part;
	MDB_val     k = val(key);
	enum err    err = read_part(view, table, &k, MDB_SET_RANGE, &part);
	return err ? err : read_whole(view, table, &part, room, row);
}

enum err view_parted_next(struct view *view, enum table table, struct buffer *room, struct view_row *row)
{
	struct part part;
	MDB_val     k = {0, NULL};
	enum err    err = read_part(view, table, &k, MDB_NEXT, &part);
	return err ? err : read_whole(view, table, &part, room, row);
}

enum err view_parted_after(struct view *view, enum table table, struct buffer *room, struct id_row *row)
{
	struct row_key  begin = key_account(row->account), key = key_uuid(row->account, row->id);
	struct view_row found;
	memset(key.bytes + key.size, 0xff, 2); /* behind its own last part */
	key.size += 2;
	enum err err = view_parted_from(view, table, key_span(&key), room, &found);
	if (err) return err;
	if (!key_has_prefix(found.key, key_span(&begin))) return ERR_NOT_FOUND;
	if (found.key.size != begin.size + sizeof row->id) return ERR_DAMAGED;
	memcpy(row->id.b, found.key.at + begin.size, sizeof row->id.b);
	row->value = found.value;
	return OK;
}
