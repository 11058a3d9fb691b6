/* LMDB behind the tables of tables.def.
 *
 * A stored row is the value followed by a CRC-32C over table, key and value. A PARTED value lies in rows whose
 * key has two bytes more, the part number; the first part begins with the size of the whole. Patching works in
 * place: the page was copied when it was first touched in this transaction, and the size does not change.
 *
 * Lifetimes: the environment lives from db_open() to db_close(); the write transaction from db_begin() to
 * db_commit(); the write cursors with it. A reader's transaction is renewed, its cursors with it. */
#include "store/db.h"

#include "schemas/crc32c.h"
#include "schemas/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CRC_BYTES = 4, TOTAL_BYTES = 4, PART_KEY_BYTES = 2, READERS_MAX = 16, IN_PAGE_BYTES_MAX = 2030 };

struct view {
	struct db     *db;
	MDB_txn       *txn;
	MDB_cursor    *cursors[TABLE_END];
	struct writes *writes;
	struct arena  *arena;
};

struct db {
	MDB_env    *env;
	MDB_dbi     dbis[TABLE_END];
	struct view writer;
};

static const struct {
	const char     *name;
	enum table_kind kind;
} tables[TABLE_END] = {
#define T(id, NAME, name, kind) [id] = {name, KIND_##kind},
#include "store/tables.def"
#undef T
};

static MDB_val val(struct span span)
{
	return (MDB_val){span.size, (void *)(uintptr_t)span.at};
}

static enum err cursor_of(struct view *view, enum table table, MDB_cursor **cursor)
{
	if (!view->cursors[table] && mdb_cursor_open(view->txn, view->db->dbis[table], &view->cursors[table]))
		return ERR_IO;
	*cursor = view->cursors[table];
	return OK;
}

static uint32_t row_crc(enum table table, struct span key, const void *value, size_t size)
{
	uint8_t  id = (uint8_t)table;
	uint32_t crc = crc32c(0, &id, 1);
	return crc32c(crc32c(crc, key.at, key.size), value, size);
}

static enum err checked(enum table table, struct span key, MDB_val stored, struct span *value)
{
	if (stored.mv_size < CRC_BYTES) return ERR_DAMAGED;
	size_t         size = stored.mv_size - CRC_BYTES;
	const uint8_t *at = stored.mv_data;
	if (get_le32(at + size) != row_crc(table, key, at, size)) return ERR_DAMAGED;
	*value = span_of(at, size);
	return OK;
}

static enum err row_get(struct view *view, enum table table, struct span key, struct span *value)
{
	MDB_cursor *cursor;
	enum err    err = cursor_of(view, table, &cursor);
	if (err) return err;
	MDB_val k = val(key), stored;
	int     rc = mdb_cursor_get(cursor, &k, &stored, MDB_SET);
	if (rc == MDB_NOTFOUND) return ERR_NOT_FOUND;
	return rc ? ERR_IO : checked(table, key, stored, value);
}

/* A row is written where LMDB makes room for it: no copy on the way. */
static enum err row_put(struct db *db, enum table table, struct span key, struct span head, struct span body)
{
	MDB_cursor *cursor;
	enum err    err = cursor_of(&db->writer, table, &cursor);
	if (err) return err;
	size_t  size = head.size + body.size;
	MDB_val k = val(key), room = {size + CRC_BYTES, NULL};
	if (mdb_cursor_put(cursor, &k, &room, MDB_RESERVE)) return ERR_IO;
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
	if (rc == MDB_NOTFOUND) return ERR_NOT_FOUND;
	return rc ? ERR_IO : OK;
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

/* Removes the parts from `number` on; it is no error when there are none. */
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
	struct span     head = span_of(total, sizeof total);
	unsigned        number = 0;
	put_le32(total, (uint32_t)value.size);
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

/* A row on pages of its own is not copied when it is touched: it is written anew. */
static enum err patch_copy(struct db *db, const struct write *write, struct span value)
{
	uint8_t copy[ROW_BYTES_MAX];
	if (value.size > sizeof copy) return ERR_DAMAGED;
	memcpy(copy, value.at, value.size);
	enum err err = patch_bytes(write, copy, value.size);
	if (err) return err;
	return row_put(db, write->table, write->key, span_of(NULL, 0), span_of(copy, value.size));
}

/* Where the row is, in a page that may be written. A row that a handler has read in this transaction was
 * verified then; one that comes from the journal is verified here. */
static enum err row_patch(struct db *db, const struct write *write, bool verified)
{
	MDB_cursor *cursor;
	struct span value;
	MDB_val     k = val(write->key), room;
	enum err    err = cursor_of(&db->writer, write->table, &cursor);
	if (err) return err;
	int rc = mdb_cursor_get(cursor, &k, &room, MDB_SET);
	if (rc) return rc == MDB_NOTFOUND ? ERR_DAMAGED : ERR_IO;
	if (room.mv_size < CRC_BYTES) return ERR_DAMAGED;
	if (!verified && (err = checked(write->table, write->key, room, &value))) return err;
	value = span_of(room.mv_data, room.mv_size - CRC_BYTES);
	if (write->key.size + room.mv_size > IN_PAGE_BYTES_MAX) return patch_copy(db, write, value);
	if (mdb_cursor_put(cursor, &k, &room, MDB_CURRENT | MDB_RESERVE)) return ERR_IO;
	uint8_t *at = room.mv_data;
	if ((err = patch_bytes(write, at, value.size))) return err;
	put_le32(at + value.size, row_crc(write->table, write->key, at, value.size));
	return OK;
}

enum err db_apply(struct db *db, const struct write *write, bool verified)
{
	enum err err;
	bool     parted = tables[write->table].kind == KIND_PARTED;
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

/* Opening and transactions -------------------------------------------------------------------------------- */

static void drop_cursors(struct view *view)
{
	for (unsigned i = 0; i < TABLE_END; i++) {
		if (view->cursors[i]) mdb_cursor_close(view->cursors[i]);
		view->cursors[i] = NULL;
	}
}

static enum err open_tables(struct db *db)
{
	MDB_txn *txn = NULL;
	if (mdb_txn_begin(db->env, NULL, 0, &txn)) return ERR_IO;
	for (unsigned i = 1; i < TABLE_END; i++) {
		if (tables[i].name && mdb_dbi_open(txn, tables[i].name, MDB_CREATE, &db->dbis[i])) {
			mdb_txn_abort(txn);
			return ERR_IO;
		}
	}
	return mdb_txn_commit(txn) ? ERR_IO : OK;
}

static bool is_fresh(MDB_env *env)
{
	MDB_envinfo info;
	return mdb_env_info(env, &info) == 0 && info.me_last_txnid == 0;
}

enum err db_open(int dir_fd, uint64_t map_bytes, struct db **out, bool *fresh)
{
	char       path[64];
	int        stale = 0;
	enum err   err = ERR_IO;
	struct db *db = calloc(1, sizeof *db);
	if (!db) return ERR_NO_MEMORY;
	db->writer.db = db;
	snprintf(path, sizeof path, "/proc/self/fd/%d", dir_fd);
	if (mdb_env_create(&db->env)) goto out;
	if (mdb_env_set_maxdbs(db->env, TABLE_END) || mdb_env_set_maxreaders(db->env, READERS_MAX)) goto out;
	if (mdb_env_set_mapsize(db->env, (size_t)map_bytes)) goto out;
	if (mdb_env_open(db->env, path, MDB_NOSYNC | MDB_NOTLS, 0600)) goto out;
	mdb_reader_check(db->env, &stale); /* slots of a killed process would pin its pages */
	*fresh = is_fresh(db->env);
	err = open_tables(db);
out:
	if (err) db_close(&db);
	*out = db;
	return err;
}

void db_close(struct db **db_p)
{
	struct db *db = *db_p;
	if (!db) return;
	drop_cursors(&db->writer);
	if (db->writer.txn) mdb_txn_abort(db->writer.txn);
	if (db->env) mdb_env_close(db->env);
	free(db);
	*db_p = NULL;
}

enum err db_begin(struct db *db)
{
	must(!db->writer.txn);
	return mdb_txn_begin(db->env, NULL, 0, &db->writer.txn) ? ERR_IO : OK;
}

static const struct span applied_key = {(const uint8_t *)"applied", 7};
enum { APPLIED_BYTES = 52 };

enum err db_commit(struct db *db, const struct applied *applied)
{
	uint8_t value[APPLIED_BYTES];
	put_le64(value, applied->segment);
	put_le64(value + 8, applied->offset);
	put_le64(value + 16, applied->seq);
	put_le64(value + 24, applied->epoch);
	put_le64(value + 32, (uint64_t)applied->now.v);
	put_le64(value + 40, applied->record_offset);
	put_le32(value + 48, applied->chain);
	enum err err = row_put(db, TABLE_META, applied_key, span_of(NULL, 0), span_of(value, sizeof value));
	drop_cursors(&db->writer);
	if (err) return err;
	MDB_txn *txn = db->writer.txn;
	db->writer.txn = NULL;
	return mdb_txn_commit(txn) ? ERR_IO : OK;
}

enum err db_applied(struct db *db, struct applied *applied)
{
	struct span value;
	enum err    err = row_get(&db->writer, TABLE_META, applied_key, &value);
	if (err) return err;
	if (value.size != APPLIED_BYTES) return ERR_DAMAGED;
	*applied = (struct applied){
	    .segment = get_le64(value.at),
	    .offset = get_le64(value.at + 8),
	    .seq = get_le64(value.at + 16),
	    .epoch = get_le64(value.at + 24),
	    .now = {(int64_t)get_le64(value.at + 32)},
	    .record_offset = get_le64(value.at + 40),
	    .chain = get_le32(value.at + 48),
	};
	return OK;
}

enum err db_sync(struct db *db)
{
	return mdb_env_sync(db->env, 1) ? ERR_IO : OK;
}

/* LMDB's own descriptor: opening and closing the file again would drop its locks. */
enum err db_reserve(struct db *db, uint64_t bytes)
{
	int         fd;
	struct stat st;
	if (mdb_env_get_fd(db->env, &fd) || fstat(fd, &st)) return ERR_IO;
	return fallocate(fd, FALLOC_FL_KEEP_SIZE, st.st_size, (off_t)bytes) && errno != EOPNOTSUPP
	           ? ERR_STORAGE_FULL
	           : OK;
}

enum err db_push(struct db *db, uint64_t *at, uint64_t bytes)
{
	int         fd;
	struct stat st;
	if (mdb_env_get_fd(db->env, &fd) || fstat(fd, &st)) return ERR_IO;
	if (sync_file_range(fd, (off_t)*at, (off_t)bytes, SYNC_FILE_RANGE_WRITE)) return ERR_IO;
	*at += bytes;
	if (*at < (uint64_t)st.st_size) return OK;
	*at = 0;
	return fdatasync(fd) ? ERR_IO : OK;
}

/* Views --------------------------------------------------------------------------------------------------- */

struct view *db_view(struct db *db, struct writes *writes, struct arena *arena)
{
	db->writer.writes = writes;
	db->writer.arena = arena;
	return &db->writer;
}

struct arena *view_arena(struct view *view)
{
	return view->arena;
}

struct writes *view_writes(struct view *view)
{
	return view->writes;
}

enum err view_get(struct view *view, enum table table, struct span key, struct span *value)
{
	const struct write *write = view->writes ? writes_find(view->writes, table, key) : NULL;
	struct span         base = {NULL, 0};
	if (!write || write->kind == WRITE_PATCH) {
		enum err err = tables[table].kind == KIND_PARTED ? parted_get(view, table, key, &base)
		                                                 : row_get(view, table, key, &base);
		if (err) return err;
	}
	if (write) return write_over(view->writes, write, base, value);
	*value = base;
	return OK;
}

static enum err move(struct view *view, enum table table, MDB_val *key, MDB_cursor_op op,
                     struct view_row *row)
{
	MDB_cursor *cursor;
	MDB_val     stored;
	enum err    err = cursor_of(view, table, &cursor);
	if (err) return err;
	must(tables[table].kind == KIND_PLAIN && (!view->writes || view->writes->count == 0));
	int rc = mdb_cursor_get(cursor, key, &stored, op);
	if (rc == MDB_NOTFOUND) return ERR_NOT_FOUND;
	if (rc) return ERR_IO;
	row->key = span_of(key->mv_data, key->mv_size);
	return checked(table, row->key, stored, &row->value);
}

enum err view_from(struct view *view, enum table table, struct span key, struct view_row *row)
{
	MDB_val k = val(key);
	return move(view, table, &k, MDB_SET_RANGE, row);
}

enum err view_before(struct view *view, enum table table, struct span key, struct view_row *row)
{
	MDB_val     k = val(key), stored;
	enum err    err;
	MDB_cursor *cursor;
	if ((err = cursor_of(view, table, &cursor))) return err;
	int rc = mdb_cursor_get(cursor, &k, &stored, MDB_SET_RANGE);
	if (rc && rc != MDB_NOTFOUND) return ERR_IO;
	return move(view, table, &k, rc ? MDB_LAST : MDB_PREV, row);
}

enum err view_next(struct view *view, enum table table, struct view_row *row)
{
	MDB_val k = {0, NULL};
	return move(view, table, &k, MDB_NEXT, row);
}

enum err db_reader_open(struct db *db, struct arena *arena, struct view **out)
{
	struct view *view = calloc(1, sizeof *view);
	if (!view) return ERR_NO_MEMORY;
	view->db = db;
	view->arena = arena;
	if (mdb_txn_begin(db->env, NULL, MDB_RDONLY, &view->txn)) {
		free(view);
		return ERR_IO;
	}
	mdb_txn_reset(view->txn);
	*out = view;
	return OK;
}

enum err db_reader_begin(struct view *view)
{
	if (mdb_txn_renew(view->txn)) return ERR_IO;
	for (unsigned i = 0; i < TABLE_END; i++)
		if (view->cursors[i] && mdb_cursor_renew(view->txn, view->cursors[i])) return ERR_IO;
	return OK;
}

void db_reader_end(struct view *view)
{
	mdb_txn_reset(view->txn);
}

void db_reader_close(struct view **view_p)
{
	struct view *view = *view_p;
	if (!view) return;
	drop_cursors(view);
	mdb_txn_abort(view->txn);
	free(view);
	*view_p = NULL;
}
