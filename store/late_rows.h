#pragma once
#include "store/view.h"

/* Late rows: rows of late tables that are found by their whole key. Each lies in memory, in its newest state, from the
 * command that changes it until a slice (late.h) has written it, and then leaves memory. A deleted row is one of them too,
 * without a value, so that nobody finds the row that LMDB still has.
 *
 * table         changed by     read by
 * IDEMPOTENCY   put, delete    the writer
 * READER        put, delete    all
 * SCAN          put, patch     all
 * SCAN_TALLY    put            all
 *
 * No table has patches and deletions: a replay begins before what LMDB has, and a patch could miss its row.
 * The writer alone changes rows. A reader's view sees them as of its commit: a row that changes in another transaction keeps
 * what it was while a view may need it, and one that has been written stays until the commit with it is not newer than any
 * view. Then a view finds the same in its own snapshot of LMDB. Units: bytes, if nothing else is said. */
struct cells;
struct db;

/* The most memory of rows that LMDB does not have, LATE_ROWS_BYTES_MAX unless it is set before the first row. */
void late_rows_bound(struct cells *cells, uint64_t bytes);

/* The row in the view, without staged writes. Errors: ERR_NOT_FOUND; as view.h. */
must_check enum err late_rows_get(struct view *view, enum table table, struct span key, struct span *row);

/* For a sweep through the rows of LMDB, in a table without deletions: replaces the row by what it is in the view. */
void late_rows_replace(const struct view *view, enum table table, struct view_row *row);

/* Puts a write into memory instead of LMDB. Errors: ERR_UNSUPPORTED (a change that the table does not have), ERR_DAMAGED
 * (a key or value that no row has, a patch of none), ERR_NO_MEMORY, ERR_IO. */
must_check enum err late_rows_apply(struct view *writer, const struct write *write);

/* How full is the memory, in thousandths of the bound? */
unsigned late_rows_fill(const struct cells *cells);
/* Bytes that the tables will grow by at most when these rows are written. */
uint64_t late_rows_growth(const struct cells *cells);

/* Rows that are not to be written yet; and units of those that are, LATE_ROWS_RUN rows each. late_rows_take(): from now on
 * all are. False: there were none. */
enum { LATE_ROWS_RUN = 8 };
uint64_t late_rows_dirty(const struct cells *cells);
uint64_t late_rows_left(const struct cells *cells);
bool     late_rows_take(struct cells *cells);

/* Writes the next unit into the open transaction, about in the order of keys. *some false: there is none left.
 * Errors: ERR_IO, ERR_DAMAGED (a damaged row that would be replaced), ERR_NO_MEMORY. */
must_check enum err late_rows_write_next(struct db *db, bool *some);

/* After a commit: lets go what no view needs any more. */
void late_rows_trim(struct cells *cells);
