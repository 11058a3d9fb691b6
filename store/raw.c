/* Raw rows of the tables, for code that reads all of them without their meaning. */
#include "store/db_inside.h"

static enum err raw_move(struct view *reader, enum table table, MDB_val *key, MDB_cursor_op op,
                         struct raw_row *row)
{
	MDB_cursor *cursor;
	MDB_val     stored = {0, NULL}; /* a damaged page may leave it unset */
	enum err    err = view_cursor(reader, table, &cursor);
	if (err || (err = db_err(mdb_cursor_get(cursor, key, &stored, op)))) return err;
	row->key = span_of(key->mv_data, key->mv_size);
	row->stored = span_of(stored.mv_data, stored.mv_size);
	return OK;
}

enum err view_raw_from(struct view *reader, enum table table, struct span key, struct raw_row *row)
{
	MDB_val k = val(key);
	return raw_move(reader, table, &k, key.size ? MDB_SET_RANGE : MDB_FIRST, row);
}

enum err view_raw_next(struct view *reader, enum table table, struct raw_row *row)
{
	MDB_val k = {0, NULL};
	return raw_move(reader, table, &k, MDB_NEXT, row);
}

bool raw_row_holds(enum table table, const struct raw_row *row)
{
	struct span value;
	return !row_checked(table, row->key, val(row->stored), &value);
}

/* The size of a copy: pages that are free for reuse do not count. */
uint64_t view_used_bytes(struct view *reader)
{
	MDB_stat stat;
	uint64_t pages = 2 + TABLE_END;
	for (unsigned i = 1; i < TABLE_END; i++)
		if (reader->db->dbis[i] && !mdb_stat(reader->txn, reader->db->dbis[i], &stat))
			pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
	return mdb_env_stat(reader->db->env, &stat) ? 0 : pages * stat.ms_psize;
}

enum err db_append_raw(struct db *db, enum table table, const struct raw_row *row)
{
	MDB_cursor *cursor;
	MDB_val     k = val(row->key), stored = val(row->stored);
	enum err    err = view_cursor(&db->writer, table, &cursor);
	if (err) return err;
	int rc = mdb_cursor_put(cursor, &k, &stored, MDB_APPEND);
	return rc == MDB_KEYEXIST ? ERR_DAMAGED : db_err(rc);
}
