#pragma once
#include "schemas/clock.h"
#include "store/progress.h"
#include "store/view.h"

/* The working LMDB: one environment, one writer's view that holds the open write transaction, any number of
 * readers' views. Only store/ includes this. Rows carry their checksum; PARTED values are split and joined
 * here. Errors: ERR_IO (any LMDB failure: the process has to exit), ERR_DAMAGED, ERR_NO_MEMORY. */
struct db;

/* How far the journal has been applied to the tables: in the same transaction as the rows. */
struct applied {
	uint64_t segment, offset; /* where the next record would be expected */
	uint64_t record_offset;   /* where the newest applied one is */
	uint64_t seq, epoch;
	uint32_t chain;
	wall_us  now;
};

/* `dir_fd` is the directory that holds data.mdb; an empty one gets it. */
must_check enum err db_open(int dir_fd, uint64_t map_bytes, struct db **db);
void                db_close(struct db **db); /* without a sync; an open transaction is dropped */

must_check enum err db_begin(struct db *db); /* the write transaction */
/* `verified`: the rows patched have been read, and so verified, in this transaction. */
must_check enum err db_apply(struct db *db, const struct write *write, bool verified);
must_check enum err db_commit(struct db *db, const struct applied *applied);  /* ends it */
must_check enum err db_applied(struct view *view, struct applied *applied);   /* NOT_FOUND: fresh */
must_check enum err applied_read(struct span value, struct applied *applied); /* of its row in META */
/* The highest seq of an applied position that stands in these pages of some data.mdb with its checksum; 0: none. */
uint64_t            db_newest_applied(struct span pages);
must_check enum err db_sync(struct db *db); /* forces everything to disk */

/* From any thread: space on disk for `bytes` beyond what the tables use; and the first of them, of tables that grow large,
 * as pages in memory, at the pace of `progress` (file_hold_pages()). */
must_check enum err db_reserve(struct db *db, uint64_t bytes);
void                db_hold_ahead(struct db *db, struct progress *progress);
uint64_t            db_ahead(struct db *db); /* bytes of disk that are the file's beyond what is used */

/* Round by round through the file: the next `bytes` of what was written are pushed towards the disk. Each call, also when
 * there is nothing to push, tells of errors that writing in the background has met until then, the kernel's own too: ERR_IO.
 * Nothing is waited for but room in the disk's queue. One thread's. */
struct db_push {
	uint64_t at;            /* the place in the file; 0: a round begins */
	uint64_t began, pushed; /* the last transaction before this round, and before the last one */
	bool     is_done;       /* nothing was committed since all was pushed */
};
must_check enum err db_push(struct db *db, struct db_push *push, uint64_t bytes);
void                db_write_back(struct db *db); /* all of it, begun and not awaited */

/* The writer's view of the open transaction; `writes` (may be NULL) is laid over it. */
struct view *db_view(struct db *db, struct writes *writes, struct arena *arena);

/* A reader's own view; begin and end bound its snapshot. One thread uses it at a time. */
must_check enum err db_reader_open(struct db *db, struct arena *arena, struct view **view);
must_check enum err db_reader_begin(struct view *view);
void                db_reader_end(struct view *view);
void                db_reader_close(struct view **view);

/* Tables that nobody changes: opened for reading alone, without lock files, and nothing is written to their place.
 * Errors: ERR_DAMAGED (no tables, or not whole), ERR_IO. */
must_check enum err db_open_still(int dir_fd, struct db **db);

/* Rows as they lie in a reader's tables, in the order of their keys: META's too, the parts of PARTED values one by one.
 * From the first at or after `key` (size 0: the table's first); then the one after the last. Nothing is verified.
 * Errors: ERR_NOT_FOUND: no more. */
struct raw_row {
	struct span key, stored; /* stored: the value, then its checksum */
};
must_check enum err view_raw_from(struct view *reader, enum table table, struct span key,
                                  struct raw_row *row);
must_check enum err view_raw_next(struct view *reader, enum table table, struct raw_row *row);
bool                raw_row_holds(enum table table, const struct raw_row *row); /* its checksum */
uint64_t            view_used_bytes(struct view *reader); /* of the tables' file: pages in use */

/* Puts one behind the last row of its table. Errors: ERR_DAMAGED (it does not come after it), ERR_IO. */
bool                db_is_applied_row(enum table table, const struct raw_row *row);
must_check enum err db_append_raw(struct db *db, enum table table, const struct raw_row *row);
