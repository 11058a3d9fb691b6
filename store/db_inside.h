#pragma once
#include "store/cells.h"
#include "store/db.h"
#include "store/late_rows.h"
#include "store/tails.h"

#include <lmdb.h>
#include <stdatomic.h>

/* Shared by the files that use LMDB, and included by them alone. */
struct view {
	struct db           *db;
	MDB_txn             *txn;
	MDB_cursor          *cursors[TABLE_END];
	struct writes       *writes;
	struct arena        *arena;
	struct cells        *cells;      /* NULL: late tables are read from LMDB alone */
	uint64_t             mark;       /* a reader's: what is newer of the cells it lays back */
	struct cells_reader *reader;     /* likewise: its place among them */
	bool                 is_too_old; /* it needed what is no longer known */
};

/* Words that record when rows were written: 2 MB, all of which an account with ten million passes needs. */
enum { ROW_TXNS = 1 << 18 };

struct db {
	MDB_env    *env;
	MDB_dbi     dbis[TABLE_END];
	MDB_dbi     names;  /* the unnamed table: a row for each of the others */
	struct view writer; /* its cells are the database's */
	uint8_t     lineage[LINEAGE_BYTES];

	_Atomic uint64_t row_txns[ROW_TXNS];
};

enum {
	CRC_BYTES = 4,            /* behind every stored value */
	IN_PAGE_BYTES_MAX = 2030, /* of key and stored value: a larger one may get pages of its own */
};

static inline MDB_val val(struct span span)
{
	return (MDB_val){span.size, (void *)(uintptr_t)span.at};
}

/* ---- cursor.c ---- */

/* Translates LMDB's result. ERR_NOT_FOUND; ERR_DAMAGED: its pages contradict each other; ERR_IO: anything else.
 * errno holds the system's error. */
enum err db_err(int rc);

/* The view's cursor on a table, opened on first use. Errors: ERR_IO. */
must_check enum err view_cursor(struct view *view, enum table table, MDB_cursor **cursor);

enum table_kind table_kind(enum table table);
bool            table_exists(enum table table); /* numbers have gaps */
const char     *table_name(enum table table);

/* ---- position.c ---- */

/* Puts the applied position. */
must_check enum err position_put(struct db *db, const struct applied *applied);

/* ---- row.c ---- */

/* Covers table, key and value. */
uint32_t row_crc(enum table table, struct span key, const void *value, size_t size);

/* One value, checked. Errors: ERR_NOT_FOUND, ERR_DAMAGED, ERR_IO, ERR_NO_MEMORY. */
must_check enum err row_get(struct view *view, enum table table, struct span key, struct span *value);
must_check enum err row_get_parted(struct view *view, enum table table, struct span key, struct span *value);
must_check enum err row_exists(struct view *view, enum table table, struct span key);
must_check enum err row_put(struct db *db, enum table table, struct span key, struct span head,
                            struct span body);
/* One write into the open transaction, as db_apply(). */
must_check enum err row_apply(struct db *db, const struct write *write, bool verified);
/* Records that the open transaction has written this row. */
void row_written(struct db *db, enum table table, struct span key);

/* Verifies and strips the checksum of a stored value. Errors: ERR_DAMAGED. */
must_check enum err row_checked(enum table table, struct span key, MDB_val stored, struct span *value);
