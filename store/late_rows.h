#pragma once
#include "store/view.h"

/* Late rows: rows of late tables that are found by their whole key, such as idempotency keys. Each lies in memory, in its
 * newest state, from the command that changes it until a slice (late.h) has written it, and then leaves memory. A deleted row
 * is one of them too, without a value, so that nobody finds the row that LMDB still has. Rows of such a table are put and
 * deleted, never patched: a replay begins before what LMDB has, and a patch could miss its row.
 * The writer alone reads and changes them. A view of a reader may not read these tables. Units: bytes, if nothing else is
 * said. */
struct cells;
struct db;

/* The most memory, LATE_ROWS_BYTES_MAX unless it is set before the first row. */
void late_rows_bound(struct cells *cells, uint64_t bytes);

/* The row in the writer's view, without staged writes. Errors: ERR_NOT_FOUND; as view.h. */
must_check enum err late_rows_get(struct view *view, enum table table, struct span key, struct span *row);

/* Puts a write into memory instead of LMDB. Errors: ERR_UNSUPPORTED (a patch), ERR_DAMAGED (a key or value that no row has),
 * ERR_NO_MEMORY. */
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
 * Errors: ERR_IO, ERR_DAMAGED, ERR_NO_MEMORY. */
must_check enum err late_rows_write_next(struct db *db, bool *some);
