/* Rows, one at a time.
 * A stored row is the value followed by a CRC-32C over table, key and value. A PARTED value lies in rows whose key
 * has two bytes more, the part number; the first part begins with the size of the whole. A patch works in place: its
 * page was copied on the first write in this transaction, and the size does not change. */
#include "store/db_inside.h"

#include "schemas/bytes.h"
#include "schemas/crc32c.h"

enum { TOTAL_BYTES = 4, PART_KEY_BYTES = 2 };

uint32_t row_crc(enum table table, struct span key, const void *value, size_t size)
{
	uint8_t  id = (uint8_t)table;
	uint32_t crc = crc32c(0, &id, 1);
	return crc32c(crc32c(crc, key.at, key.size), value, size);
}

enum err row_checked(enum table table, struct span key, MDB_val stored, struct span *value)
{
	if (stored.mv_size < CRC_BYTES) return ERR_DAMAGED;
	size_t         size = stored.mv_size - CRC_BYTES;
	const uint8_t *at = stored.mv_data;
	if (get_le32(at + size) != row_crc(table, key, at, size)) return ERR_DAMAGED;
	*value = span_of(at, size);
	return OK;
}

enum err row_get(struct view *view, enum table table, struct span key, struct span *value)
{
	MDB_cursor *cursor;
	enum err    err = view_cursor(view, table, &cursor);
	if (err) return err;
	MDB_val k = val(key), stored = {0, NULL};
	int     rc = mdb_cursor_get(cursor, &k, &stored, MDB_SET);
	return rc ? db_err(rc) : row_checked(table, key, stored, value);
}

/* The row is written into the space that LMDB reserves: no intermediate copy. */
enum err row_put(struct db *db, enum table table, struct span key, struct span head, struct span body)
{
	MDB_cursor *cursor;
	enum err    err = view_cursor(&db->writer, table, &cursor);
	if (err) return err;
	size_t  size = head.size + body.size;
	MDB_val k = val(key), room = {size + CRC_BYTES, NULL};
	int     rc = mdb_cursor_put(cursor, &k, &room, MDB_RESERVE);
	if (rc) return db_err(rc);
	uint8_t *at = room.mv_data;
	if (head.size) memcpy(at, head.at, head.size);
	if (body.size) memcpy(at + head.size, body.at, body.size);
	put_le32(at + size, row_crc(table, key, at, size));
	return OK;
}

static enum err row_del(struct db *db, enum table table, struct span key)
{
	MDB_val k = val(key);
	int     rc = mdb_del(db->writer.txn, db->dbis[table], &k, NULL);
	return rc ? db_err(rc) : OK;
}

/* Parts ------------------------------------------------------------------------------------------------- */

struct part_key {
	uint8_t bytes[KEY_BYTES_MAX + PART_KEY_BYTES];
	size_t  size;
};

static struct span part_key(struct part_key *part, struct span key, unsigned number)
{
	if (number == 0) memcpy(part->bytes, key.at, key.size);
	part->size = key.size + PART_KEY_BYTES;
	put_be16(part->bytes + key.size, (uint16_t)number);
	return span_of(part->bytes, part->size);
}

static enum err parted_get(struct view *view, enum table table, struct span key, struct span *value)
{
	struct part_key part;
	struct span     row;
	enum err        err = row_get(view, table, part_key(&part, key, 0), &row);
	if (err) return err;
	if (row.size < TOTAL_BYTES) return ERR_DAMAGED;
	size_t total = get_le32(row.at), have = row.size - TOTAL_BYTES;
	if (have == total) {
		*value = span_of(row.at + TOTAL_BYTES, total);
		return OK;
	}
	if (have > total) return ERR_DAMAGED;
	uint8_t *whole = arena_take(view->arena, total);
	if (!whole) return ERR_NO_MEMORY;
	memcpy(whole, row.at + TOTAL_BYTES, have);
	for (unsigned number = 1; have < total; number++) {
		if ((err = row_get(view, table, part_key(&part, key, number), &row)))
			return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		if (row.size == 0 || row.size > total - have) return ERR_DAMAGED;
		memcpy(whole + have, row.at, row.size);
		have += row.size;
	}
	*value = span_of(whole, total);
	return OK;
}

/* Removes the parts from `number` on; it is no error if there are none. */
static enum err parted_cut(struct db *db, enum table table, struct span key, unsigned number)
{
	struct part_key part;
	enum err        err = OK;
	part_key(&part, key, 0);
	for (; !err; number++)
		err = row_del(db, table, part_key(&part, key, number));
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err parted_put(struct db *db, enum table table, struct span key, struct span value)
{
	struct part_key part;
	uint8_t         total[TOTAL_BYTES];
	unsigned        number = 0;
	put_le32(total, (uint32_t)value.size);
	struct span head = span_of(total, sizeof total);
	do {
		size_t   room = PART_BYTES - head.size;
		size_t   size = value.size < room ? value.size : room;
		enum err err = row_put(db, table, part_key(&part, key, number++), head,
		                       span_of(value.at, size));
		if (err) return err;
		value = span_of(value.at + size, value.size - size);
		head = span_of(NULL, 0);
	} while (value.size);
	return parted_cut(db, table, key, number);
}

/* Writing ------------------------------------------------------------------------------------------------ */

static enum err patch_bytes(const struct write *write, uint8_t *at, size_t size)
{
	for (unsigned i = 0; i < write->patch_count; i++) {
		const struct patch *patch = &write->patches[i];
		if ((size_t)patch->offset + patch->size > size) return ERR_DAMAGED;
		memcpy(at + patch->offset, patch->bytes, patch->size);
	}
	return OK;
}

/* LMDB does not copy a row on pages of its own before a change, so such a row is rewritten. */
static enum err patch_copy(struct db *db, const struct write *write, struct span value)
{
	uint8_t copy[ROW_BYTES_MAX];
	if (value.size > sizeof copy) return ERR_DAMAGED;
	memcpy(copy, value.at, value.size);
	enum err err = patch_bytes(write, copy, value.size);
	if (err) return err;
	return row_put(db, write->table, write->key, span_of(NULL, 0), span_of(copy, value.size));
}

/* The row's place in a writable page. A row that a handler has read in this transaction was verified then; a row
 * patched by replay is verified here. */
static enum err row_patch(struct db *db, const struct write *write, bool verified)
{
	MDB_cursor *cursor;
	struct span value;
	MDB_val     k = val(write->key), room;
	enum err    err = view_cursor(&db->writer, write->table, &cursor);
	if (err) return err;
	int rc = mdb_cursor_get(cursor, &k, &room, MDB_SET);
	if (rc) return rc == MDB_NOTFOUND ? ERR_DAMAGED : db_err(rc);
	if (room.mv_size < CRC_BYTES) return ERR_DAMAGED;
	if (!verified && (err = row_checked(write->table, write->key, room, &value))) return err;
	value = span_of(room.mv_data, room.mv_size - CRC_BYTES);
	if (write->key.size + room.mv_size > IN_PAGE_BYTES_MAX) return patch_copy(db, write, value);
	if ((rc = mdb_cursor_put(cursor, &k, &room, MDB_CURRENT | MDB_RESERVE))) return db_err(rc);
	uint8_t *at = room.mv_data;
	if ((err = patch_bytes(write, at, value.size))) return err;
	put_le32(at + value.size, row_crc(write->table, write->key, at, value.size));
	return OK;
}

enum err row_apply(struct db *db, const struct write *write, bool verified)
{
	enum err err;
	bool     parted = table_kind(write->table) == KIND_PARTED;
	switch (write->kind) {
	case WRITE_PUT:
		if (parted) return parted_put(db, write->table, write->key, write->value);
		return row_put(db, write->table, write->key, span_of(NULL, 0), write->value);
	case WRITE_DEL:
		if (parted) return parted_cut(db, write->table, write->key, 0);
		err = row_del(db, write->table, write->key);
		return err == ERR_NOT_FOUND ? OK : err;
	case WRITE_PATCH: return parted ? ERR_UNSUPPORTED : row_patch(db, write, verified);
	}
	return ERR_UNSUPPORTED;
}

enum err row_exists(struct view *view, enum table table, struct span key)
{
	struct part_key part;
	struct span     row;
	bool            parted = table_kind(table) == KIND_PARTED;
	return row_get(view, table, parted ? part_key(&part, key, 0) : key, &row);
}

enum err row_get_parted(struct view *view, enum table table, struct span key, struct span *value)
{
	return table_kind(table) == KIND_PARTED ? parted_get(view, table, key, value)
	                                        : row_get(view, table, key, value);
}
