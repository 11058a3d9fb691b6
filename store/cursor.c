/* Tables by number, cursors on them, and LMDB's results as ours: the base of every file that uses LMDB. */
#include "store/db_inside.h"

#include <errno.h>

static const struct {
	const char     *name;
	enum table_kind kind;
} tables[TABLE_END] = {
#define T(id, NAME, name, kind) [id] = {name, KIND_##kind},
#include "store/tables.def"
#undef T
};

enum table_kind table_kind(enum table table)
{
	return tables[table].kind;
}

bool table_exists(enum table table)
{
	return tables[table].name != NULL;
}

const char *table_name(enum table table)
{
	return tables[table].name ? tables[table].name : "?";
}

enum err db_err(int rc)
{
	if (rc) errno = rc > 0 ? rc : EIO; /* LMDB's own codes are negative */
	switch (rc) {
	case MDB_SUCCESS: return OK;
	case MDB_NOTFOUND: return ERR_NOT_FOUND;
	case ENOMEM: return ERR_NO_MEMORY;
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
	case MDB_INVALID:
	case MDB_VERSION_MISMATCH:
	/* Whole tables never cause these: a path too deep, a node too large for its page, a key too long, a table of
	 * another kind, and a transaction after any of them. */
	case MDB_CURSOR_FULL:
	case MDB_PAGE_FULL:
	case MDB_BAD_VALSIZE:
	case MDB_INCOMPATIBLE:
	case MDB_BAD_TXN:
	case MDB_MAP_RESIZED: return ERR_DAMAGED; /* the map never is: pages beyond it do not exist */
	default: return ERR_IO;
	}
}

enum err view_cursor(struct view *view, enum table table, MDB_cursor **cursor)
{
	if (!view->db->dbis[table]) return ERR_NOT_FOUND; /* tables older than this one */
	if (!view->cursors[table]) {
		int rc = mdb_cursor_open(view->txn, view->db->dbis[table], &view->cursors[table]);
		if (rc) return db_err(rc);
	}
	*cursor = view->cursors[table];
	return OK;
}
