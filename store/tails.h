#pragma once
#include "schemas/ids.h"
#include "store/view.h"

/* An account's tail: its ledger rows from the first that LMDB does not have to the newest, in memory. The writer alone adds
 * rows, each with the next seq, and writes them to LMDB, in rounds (late.h) or ahead of them. A row in memory never changes,
 * and each names the transaction that it belongs to, so a reader's view sees those up to its own.
 *
 * Rows that have been written stay for a while, for views that are older than the commit that wrote them: an eighth of
 * the bound, oldest first. Readers hold no pointer to them between two calls, and notice when one was given to other rows
 * during a call: the view is then too old. Memory of rows is used again and freed by cells_close(). */
struct cells;
struct db;

/* The most memory, LATE_TAILS_BYTES_MAX unless it is set before the first row. */
void tails_bound(struct cells *cells, uint64_t bytes);

/* The row in the view, without staged writes. Errors: ERR_NOT_FOUND; ERR_OVERLOADED: a reader's view that is too old; as
 * view.h. */
must_check enum err tails_row(struct view *view, struct span key, struct span *row);
/* The seq of the account's newest row in the view, without staged writes; 0: none. Errors: as tails_row(). */
must_check enum err tails_last(struct view *view, struct account_id account, uint64_t *seq);

/* The writer: puts a write of LEDGER into the tail. One that is there already has to be the same: replay begins before rows
 * that LMDB has. Errors: ERR_DAMAGED (a gap, another row of that seq, a wrong form), ERR_UNSUPPORTED (rows are put alone),
 * ERR_NO_MEMORY, ERR_IO. */
must_check enum err tails_apply(struct view *writer, const struct write *write);

/* How full is the memory of rows that LMDB does not have, in thousandths of what the bound leaves to them? */
unsigned tails_fill(const struct cells *cells);
/* Bytes that the tables will grow by at most when these rows are written. */
uint64_t tails_growth(const struct cells *cells);

/* The writer: writes the next rows of the round under way, at most TAIL_RUN_ROWS, into the open transaction, in the order of
 * accounts. *some false: it has none left. `ahead`: or else of any other account. Errors: ERR_IO, ERR_NO_MEMORY. */
enum { TAIL_RUN_ROWS = 16 };
must_check enum err tails_write_next(struct db *db, bool ahead, bool *some);
