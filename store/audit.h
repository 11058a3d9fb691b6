#pragma once
#include "store/db.h"
#include "store/faults.h"
#include "store/progress.h"

/* Recomputes everything that must hold in one shard's tables. Each row has its checksum and form; each table is in
 * order, and its rows are found by their keys. Derived values agree: counts in blocks and tallies with the passes,
 * balances with the sum of the ledger, each pass's chain of ledger rows, ids with numbers, bodies with passes,
 * templates with accounts, idempotency keys with their order. The caller begins `reader`, which must not change
 * meanwhile. Each violation becomes a fault that names table, account and number.
 * Errors: ERR_IO, ERR_NO_MEMORY, ERR_STOPPED; damage is a fault, not an error. */
struct audit {
	uint64_t rows, accounts, passes,
	    ledger_rows; /* ledger_rows: events of passes, and scans; `rows` has them too */
};
must_check enum err audit_tables(struct view *reader, struct audit *audit, struct faults *faults,
                                 struct progress *progress);
