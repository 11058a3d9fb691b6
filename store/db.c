/* LMDB behind the tables of tables.def: the environment, its transactions, its views. The form of a row is in row.c.
 * Lifetimes: the environment lives from db_open() to db_close(); the write transaction from db_begin() to
 * db_commit(), and the write cursors with it. A reader's transaction is renewed together with its cursors. */
#include "store/db_inside.h"

#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MARK_TRIES = 100,
	READERS_MAX = CELLS_READERS,
	HELD_AHEAD_BYTES = 32 << 20,
	HELD_PIECE_BYTES = 128 << 10
};

/* Opening and transactions -------------------------------------------------------------------------------- */

static void drop_cursors(struct view *view)
{
	for (unsigned i = 0; i < TABLE_END; i++) {
		if (view->cursors[i]) mdb_cursor_close(view->cursors[i]);
		view->cursors[i] = NULL;
	}
}

/* An unknown table is damage: one of ours has lost its name. */
static int only_known(struct db *db, MDB_txn *txn, unsigned known)
{
	MDB_stat stat;
	int      rc = mdb_dbi_open(txn, NULL, 0, &db->names);
	if (rc || (rc = mdb_stat(txn, db->names, &stat))) return rc;
	return stat.ms_entries == known ? 0 : MDB_CORRUPTED;
}

/* In one transaction. `still`: the tables are read-only. */
static enum err open_tables(struct db *db, bool still)
{
	MDB_txn *txn = NULL;
	int      rc = mdb_txn_begin(db->env, NULL, still ? MDB_RDONLY : 0, &txn);
	if (rc) return db_err(rc);
	unsigned known = 0;
	for (unsigned i = 1; i < TABLE_END && !rc; i++) {
		if (!table_exists(i)) continue;
		rc = mdb_dbi_open(txn, table_name(i), still ? 0 : MDB_CREATE, &db->dbis[i]);
		known += rc == 0;
		if (still && rc == MDB_NOTFOUND) rc = 0; /* older than the table */
	}
	if (!rc) rc = only_known(db, txn, known);
	if (!rc) return db_err(mdb_txn_commit(txn));
	mdb_txn_abort(txn);
	return db_err(rc);
}

/* If the file states more pages than the map has, LMDB maps the file's size, which fails for lack of addresses. If a
 * map of the requested size is possible, the file is wrong. */
static enum err why_no_map(uint64_t map_bytes)
{
	void *probe = mmap(NULL, map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (probe == MAP_FAILED) return ERR_NO_MEMORY;
	munmap(probe, map_bytes);
	return ERR_DAMAGED;
}

static enum err open_env(struct db *db, int dir_fd, uint64_t map_bytes, unsigned flags)
{
	char path[64];
	int  rc;
	snprintf(path, sizeof path, "/proc/self/fd/%d", dir_fd);
	if ((rc = mdb_env_create(&db->env))) return db_err(rc);
	if ((rc = mdb_env_set_maxdbs(db->env, TABLE_END))) return db_err(rc);
	if ((rc = mdb_env_set_maxreaders(db->env, READERS_MAX))) return db_err(rc);
	if ((rc = mdb_env_set_mapsize(db->env, (size_t)map_bytes))) return db_err(rc);
	rc = mdb_env_open(db->env, path, flags | MDB_NOTLS, 0600);
	return rc == ENOMEM ? why_no_map(map_bytes) : db_err(rc);
}

static enum err open_any(int dir_fd, uint64_t map_bytes, bool still, struct db **out)
{
	int        stale = 0;
	struct db *db = calloc(1, sizeof *db);
	*out = NULL;
	if (!db) return ERR_NO_MEMORY;
	db->writer.db = db;
	enum err err = open_env(db, dir_fd, map_bytes, still ? MDB_RDONLY | MDB_NOLOCK : MDB_NOSYNC);
	if (err) goto out;
	if (!still) mdb_reader_check(db->env, &stale); /* slots of a killed process would pin its pages */
	err = open_tables(db, still);
out:
	if (err) db_close(&db);
	*out = db;
	return err;
}

enum err db_open(int dir_fd, uint64_t map_bytes, const uint8_t lineage[LINEAGE_BYTES], struct db **out)
{
	enum err err = open_any(dir_fd, map_bytes, false, out);
	if (!err) memcpy((*out)->lineage, lineage, LINEAGE_BYTES);
	return err;
}

enum err db_open_still(int dir_fd, struct db **out)
{
	struct stat st;
	if (fstatat(dir_fd, "data.mdb", &st, 0)) return errno == ENOENT ? ERR_DAMAGED : ERR_IO;
	return st.st_size ? open_any(dir_fd, (uint64_t)st.st_size, true, out) : ERR_DAMAGED;
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
	return db_err(mdb_txn_begin(db->env, NULL, 0, &db->writer.txn));
}

enum err db_commit(struct db *db, const struct applied *applied)
{
	enum err err = position_put(db, applied);
	drop_cursors(&db->writer);
	if (err) return err;
	MDB_txn *txn = db->writer.txn;
	if (db->writer.cells) cells_commit(db->writer.cells, mdb_txn_id(txn));
	db->writer.txn = NULL;
	if ((err = db_err(mdb_txn_commit(txn)))) return err;
	if (db->writer.cells) cells_trim(db->writer.cells);
	return OK;
}

void db_use_cells(struct db *db, struct cells *cells)
{
	db->writer.cells = cells;
}

struct cells *db_cells(struct db *db)
{
	return db->writer.cells;
}

enum err db_apply(struct db *db, const struct write *write, bool verified)
{
	bool is_late = db->writer.cells && table_is_late(write->table);
	if (write->table == TABLE_PASS_ID) cells_on_id(&db->writer, write);
	row_written(db, write->table, write->key);
	if (!is_late) return row_apply(db, write, verified);
	switch (write->table) {
	case TABLE_HOT: return cells_apply(&db->writer, write);
	case TABLE_LEDGER: return tails_apply(&db->writer, write);
	default: return late_rows_apply(&db->writer, write);
	}
}

enum err db_sync(struct db *db)
{
	return mdb_env_sync(db->env, 1) ? ERR_IO : OK;
}

/* LMDB's own descriptor of data.mdb, since closing another one would drop its locks; the file's status; and the
 * bytes in use. */
static enum err look_at_file(struct db *db, int *fd, struct stat *st, uint64_t *used)
{
	MDB_envinfo info;
	MDB_stat    stat;
	if (mdb_env_get_fd(db->env, fd) || fstat(*fd, st)) return ERR_IO;
	if (mdb_env_info(db->env, &info) || mdb_env_stat(db->env, &stat)) return ERR_IO;
	*used = (info.me_last_pgno + 1) * (uint64_t)stat.ms_psize;
	return OK;
}

/* A file system, kernel or filter of system calls without it: writes find out by themselves. */
static bool allocate(int fd, int mode, uint64_t at, uint64_t bytes)
{
	return !fallocate(fd, mode, (off_t)at, (off_t)bytes) || file_lacks_call(errno);
}

enum err db_reserve(struct db *db, uint64_t bytes)
{
	int         fd;
	struct stat st;
	uint64_t    used;
	if (look_at_file(db, &fd, &st, &used)) return ERR_IO;
	return allocate(fd, FALLOC_FL_KEEP_SIZE, used, bytes) ? OK : ERR_STORAGE_FULL;
}

void db_hold_ahead(struct db *db, struct progress *progress)
{
	int         fd;
	struct stat st;
	uint64_t    used;
	if (look_at_file(db, &fd, &st, &used)) return;
	uint64_t size = (uint64_t)st.st_size, want = used + HELD_AHEAD_BYTES;
	if (used < HELD_AHEAD_BYTES || size >= want - HELD_AHEAD_BYTES / 2) return;
	if (!allocate(fd, 0, size, want - size)) return; /* never makes the file shorter */
	for (; size < want; size += HELD_PIECE_BYTES) {
		file_hold_pages(fd, size, HELD_PIECE_BYTES);
		if (!progress_step(progress, HELD_PIECE_BYTES)) break;
	}
}

uint64_t db_file_room(struct db *db)
{
	int           fd;
	struct stat   st;
	uint64_t      used;
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
	if (look_at_file(db, &fd, &st, &used)) return 0;
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

bool db_is_removed(struct db *db)
{
	int fd;
	return !mdb_env_get_fd(db->env, &fd) && file_is_removed(fd);
}

uint64_t db_ahead(struct db *db)
{
	int         fd;
	struct stat st;
	uint64_t    used;
	if (look_at_file(db, &fd, &st, &used)) return 0;
	uint64_t has = (uint64_t)st.st_blocks * 512;
	return has > used ? has - used : 0;
}

/* Beyond the end of any file. */
#define NO_FILE_AT ((off_t)1 << 60)

/* Returns errors of writing back, whichever process caused it. Not fdatasync: that would write all recent changes at
 * once, ahead of the journal's syncs. The kernel returns the whole file's errors for any range; a range beyond the
 * file has nothing to wait for. */
static enum err write_back_errors(int fd)
{
	return sync_file_range(fd, NO_FILE_AT, 1, SYNC_FILE_RANGE_WAIT_BEFORE) ? ERR_IO : OK;
}

/* Where sync_file_range() is refused. It writes ahead of the journal's syncs, but its errors are noticed. */
static enum err push_at_once(int fd, struct db_push *push)
{
	if (push->is_done) return OK;
	if (fdatasync(fd)) return ERR_IO;
	push->at = 0;
	push->pushed = push->began;
	push->is_done = true;
	return OK;
}

enum err db_push(struct db *db, struct db_push *push, uint64_t bytes)
{
	int         fd;
	struct stat st;
	MDB_envinfo info;
	if (mdb_env_get_fd(db->env, &fd) || fstat(fd, &st) || mdb_env_info(db->env, &info)) return ERR_IO;
	if (push->at == 0) {
		push->is_done = push->pushed == info.me_last_txnid;
		push->began = info.me_last_txnid;
	}
	if (write_back_errors(fd)) return file_lacks_call(errno) ? push_at_once(fd, push) : ERR_IO;
	if (push->is_done) return OK;
	if (sync_file_range(fd, (off_t)push->at, (off_t)bytes, SYNC_FILE_RANGE_WRITE)) return ERR_IO;
	push->at += bytes;
	if (push->at < (uint64_t)st.st_size) return OK;
	push->at = 0;
	push->pushed = push->began;
	return OK;
}

void db_write_back(struct db *db)
{
	int fd;
	if (!mdb_env_get_fd(db->env, &fd)) (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
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

static bool is_in_cells(const struct view *view, enum table table)
{
	return view->cells && table_is_late(table);
}

static enum err in_cells(struct view *view, enum table table, struct span key, struct span *row)
{
	switch (table) {
	case TABLE_HOT: return cells_row(view, key, row);
	case TABLE_LEDGER: return tails_row(view, key, row);
	default: return late_rows_get(view, table, key, row);
	}
}

enum err view_get(struct view *view, enum table table, struct span key, struct span *value)
{
	const struct write *write = view->writes ? writes_find(view->writes, table, key) : NULL;
	struct span         base = {NULL, 0};
	if (!write || write->kind == WRITE_PATCH) {
		enum err err = is_in_cells(view, table) ? in_cells(view, table, key, &base)
		                                        : row_get_parted(view, table, key, &base);
		if (err) return err;
	}
	if (write) return write_over(view->writes, write, base, value);
	*value = base;
	return OK;
}

enum err view_exists(struct view *view, enum table table, struct span key)
{
	const struct write *write = view->writes ? writes_find(view->writes, table, key) : NULL;
	struct span         row;
	if (write) return write->kind == WRITE_DEL ? ERR_NOT_FOUND : OK;
	return is_in_cells(view, table) ? in_cells(view, table, key, &row) : row_exists(view, table, key);
}

static enum err move(struct view *view, enum table table, MDB_val *key, MDB_cursor_op op,
                     struct view_row *row)
{
	MDB_cursor *cursor;
	MDB_val     stored = {0, NULL}; /* a damaged page may leave it unset */
	enum err    err = view_cursor(view, table, &cursor);
	if (err) return err;
	must(table_kind(table) == KIND_PLAIN && (!view->writes || view->writes->count == 0));
	must(!is_in_cells(view, table));
	int rc = mdb_cursor_get(cursor, key, &stored, op);
	if (rc) return db_err(rc);
	row->key = span_of(key->mv_data, key->mv_size);
	return row_checked(table, row->key, stored, &row->value);
}

enum err view_from(struct view *view, enum table table, struct span key, struct view_row *row)
{
	MDB_val k = val(key);
	return move(view, table, &k, MDB_SET_RANGE, row);
}

enum err view_before(struct view *view, enum table table, struct span key, struct view_row *row)
{
	MDB_val     k = val(key), stored = {0, NULL};
	enum err    err;
	MDB_cursor *cursor;
	if ((err = view_cursor(view, table, &cursor))) return err;
	int rc = mdb_cursor_get(cursor, &k, &stored, MDB_SET_RANGE);
	if (rc && rc != MDB_NOTFOUND) return db_err(rc);
	return move(view, table, &k, rc ? MDB_LAST : MDB_PREV, row);
}

enum err view_next(struct view *view, enum table table, struct view_row *row)
{
	MDB_val k = {0, NULL};
	return move(view, table, &k, MDB_NEXT, row);
}

enum err view_previous(struct view *view, enum table table, struct view_row *row)
{
	MDB_val k = {0, NULL};
	return move(view, table, &k, MDB_PREV, row);
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

void db_reader_use_cells(struct view *view)
{
	view->cells = view->db->writer.cells;
	view->reader = cells_reader_take(view->cells);
	must(view->reader); /* LMDB has no more readers */
}

/* Begins, and finds the mark of the commit that it sees. Many more commits may come in between. */
static enum err renew(struct view *view)
{
	view->is_too_old = false;
	for (unsigned tries = MARK_TRIES; tries; tries--) {
		if (mdb_txn_renew(view->txn)) return ERR_IO;
		if (!view->cells || cells_mark(view->cells, mdb_txn_id(view->txn), view->reader, &view->mark))
			return OK;
		mdb_txn_reset(view->txn);
	}
	return ERR_OVERLOADED;
}

enum err db_reader_begin(struct view *view)
{
	if (view->cells) cells_reader_begin(view->cells, view->reader);
	enum err err = renew(view);
	for (unsigned i = 0; !err && i < TABLE_END; i++) {
		if (!view->cursors[i] || !mdb_cursor_renew(view->txn, view->cursors[i])) continue;
		/* An open transaction would keep its pages forever and could not be renewed. */
		mdb_txn_reset(view->txn);
		err = ERR_IO;
	}
	if (err && view->cells) cells_reader_end(view->reader);
	return err;
}

bool db_reader_is_too_old(const struct view *view)
{
	return view->is_too_old;
}

void db_reader_end(struct view *view)
{
	mdb_txn_reset(view->txn);
	if (view->cells) cells_reader_end(view->reader);
}

void db_reader_close(struct view **view_p)
{
	struct view *view = *view_p;
	if (!view) return;
	drop_cursors(view);
	mdb_txn_abort(view->txn);
	cells_reader_give(&view->reader);
	free(view);
	*view_p = NULL;
}
