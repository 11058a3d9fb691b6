#pragma once
#include "store/db.h"
#include "store/faults.h"
#include "store/progress.h"

/* Everything that must hold in one shard's tables, recomputed: every row's checksum and form, that each table is in
 * order and can be found by its key, and that what is kept twice agrees: counts in blocks and tallies with the
 * passes, balances with the sum of the ledger, each pass's chain of ledger rows, ids with numbers, bodies with
 * passes, templates with accounts, idempotency keys with their order. `reader` is begun by the caller and must not
 * change meanwhile. What does not hold becomes a fault that names table, account and number.
 * Errors: ERR_IO, ERR_NO_MEMORY, ERR_STOPPED; damage is a fault, not an error. */
struct audit {
	uint64_t rows, accounts, passes, ledger_rows;
};
must_check enum err audit_tables(struct view *reader, struct audit *audit, struct faults *faults,
                                 struct progress *progress);
