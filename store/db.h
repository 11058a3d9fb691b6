#pragma once
#include "schemas/clock.h"
#include "schemas/lineages.h"
#include "schemas/version.h"
#include "store/progress.h"
#include "store/view.h"

/* The working LMDB: one environment, one writer's view that holds the open write transaction, any number of readers'
 * views. Only store/ includes this. Rows carry their checksum; PARTED values are split and joined here. Errors:
 * ERR_IO (any LMDB failure: the process must exit), ERR_DAMAGED, ERR_NO_MEMORY. */
struct db;
struct cells;

/* The version of the tables is the first number of the row `applied`, since a reader looks there first. Tables of version
 * 1 have none: their row is of another size. Up to version 3 no scan is recent (scan_row.h). All are read, and TABLES_VERSION
 * is written. */
enum {
	TABLES_VERSION = 4,
	APPLIED_BYTES_1 = 52,
	APPLIED_BYTES_2 = 4 + APPLIED_BYTES_1,              /* the version before it */
	APPLIED_BYTES = 4 + LINEAGE_BYTES + APPLIED_BYTES_1 /* the version, and the directory's lineage */
};

/* The journal position that the tables include, written in the same transaction as the rows. */
struct applied {
	uint64_t segment, offset; /* where the next record would be expected */
	uint64_t record_offset;   /* of the newest applied record */
	uint64_t seq, epoch;
	uint32_t chain;
	wall_us  now;
};

/* `dir_fd` is the directory of data.mdb, which is created if missing. `lineage` is written with every position. */
must_check enum err db_open(int dir_fd, uint64_t map_bytes, const uint8_t lineage[LINEAGE_BYTES],
                            struct db **db);
void                db_close(struct db **db); /* without a sync; an open transaction is dropped */

must_check enum err db_begin(struct db *db); /* the write transaction */
/* `verified`: this transaction has read, and so verified, the rows that are patched. A write of a late table goes into
 * the cells, if there are any. */
must_check enum err db_apply(struct db *db, const struct write *write, bool verified);
must_check enum err db_commit(struct db *db, const struct applied *applied); /* ends it */
/* Errors: also ERR_NOT_FOUND: fresh tables; ERR_UNSUPPORTED: tables of an unknown version. */
must_check enum err db_applied(struct view *view, struct applied *applied);
/* The same, from its row in META. */
must_check enum err applied_read(struct span value, struct applied *applied);
/* The sentence about tables of an unknown version; `file` names them. */
void db_refusal(struct view *view, const char *file, char why[VERSION_TEXT]);
/* The highest seq of an applied position of that lineage found, with a valid checksum, in these pages of any data.mdb; 0: none.
 * Bytes that a client stored may have the form of a position, but no client knows the lineage. */
uint64_t db_newest_applied(struct span pages, const uint8_t lineage[LINEAGE_BYTES]);
/* The position up to which the late tables' changes are in the tables: at or before the applied one, and that itself where
 * no other was written. Put in the open transaction. Errors: db_late(): as db_applied(). */
must_check enum err db_late(struct view *view, struct applied *late);
/* Both. Errors: as db_applied(). */
struct standing {
	struct applied at, late;
};
must_check enum err db_standing(struct view *view, struct standing *standing);
must_check enum err db_put_late(struct db *db, const struct applied *late);
/* Writes a row of HOT from cells into the open transaction. `stored`: there is one, which must not be damaged. */
must_check enum err db_write_late(struct db *db, struct account_id account, uint32_t number, struct span row,
                                  bool stored);
uint64_t            db_late_rows(struct db *db); /* of HOT */
must_check enum err db_sync(struct db *db);      /* syncs everything to disk */

/* From any thread: reserves disk space for `bytes` beyond what the tables use. db_hold_ahead() puts the first of
 * these bytes into memory as pages, at the pace of `progress`, if the tables are large (file_hold_pages()). */
must_check enum err db_reserve(struct db *db, uint64_t bytes);
void                db_hold_ahead(struct db *db, struct progress *progress);
/* Bytes by which data.mdb may still grow, by the largest size of a file that this process may write; UINT64_MAX: no limit. */
uint64_t db_file_room(struct db *db);
bool     db_is_removed(struct db *db); /* data.mdb was, while it is in use */
uint64_t db_ahead(struct db *db);      /* bytes on disk that belong to the file beyond those in use */

/* Pushes the next `bytes` of the file towards the disk, in rounds through the file. Each call returns ERR_IO if
 * background writing, by the kernel too, has failed since the call before, even with nothing to push. It waits only
 * for room in the disk's queue, but for the whole write where sync_file_range() is refused. For one thread. */
struct db_push {
	uint64_t at; /* the offset in the file; 0: a round begins */
	uint64_t began,
	    pushed;   /* the newest transaction at the start of this round, and of the last completed one */
	bool is_done; /* nothing was committed since everything was pushed */
};
must_check enum err db_push(struct db *db, struct db_push *push, uint64_t bytes);
void                db_write_back(struct db *db); /* starts writing all of it, does not wait */

/* From now on the late tables of this database are read and changed in `cells`, which its caller owns and closes after
 * the database. Before the first reader. */
void          db_use_cells(struct db *db, struct cells *cells);
struct cells *db_cells(struct db *db); /* NULL: there are none */

/* The writer's view of the open transaction; `writes` (may be NULL) is laid over it. */
struct view *db_view(struct db *db, struct writes *writes, struct arena *arena);

/* A reader's own view; begin and end delimit its snapshot. One thread uses it at a time. */
must_check enum err db_reader_open(struct db *db, struct arena *arena, struct view **view);
/* Such a view sees the late tables as of the commit that it is of. Without this call it sees the rows in LMDB, which are
 * of db_late(). */
void                db_reader_use_cells(struct view *view);
must_check enum err db_reader_begin(struct view *view);
bool                db_reader_is_too_old(const struct view *view); /* as store_reader_is_too_old() */
void                db_reader_end(struct view *view);
void                db_reader_close(struct view **view);

/* Opens tables that no process changes, read-only, without lock files and without a write to their directory.
 * Errors: ERR_DAMAGED (no tables, or not whole), ERR_IO. */
must_check enum err db_open_still(int dir_fd, struct db **db);

/* Raw rows of a reader's tables in key order, including META, and each part of a PARTED value. view_raw_from() finds
 * the first at or after `key` (size 0: the table's first), view_raw_next() the one after. Nothing is verified.
 * Errors: ERR_NOT_FOUND: no more. */
struct raw_row {
	struct span key, stored; /* stored: the value, then its checksum */
};
must_check enum err view_raw_from(struct view *reader, enum table table, struct span key,
                                  struct raw_row *row);
must_check enum err view_raw_next(struct view *reader, enum table table, struct raw_row *row);
bool                raw_row_holds(enum table table, const struct raw_row *row); /* its checksum */
uint64_t            view_used_bytes(struct view *reader);                       /* pages in use, in bytes */

/* db_is_position_row(): is it db_applied() or db_late()? db_append_raw() puts a row behind the last one of its table. Errors: ERR_DAMAGED (it does not sort after it),
 * ERR_IO. */
bool                db_is_position_row(enum table table, const struct raw_row *row);
must_check enum err db_append_raw(struct db *db, enum table table, const struct raw_row *row);
