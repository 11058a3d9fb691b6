#pragma once
#include "schemas/ids.h"
#include "store/writes.h"

/* Accounts with rows that are applied but not committed, so that readers do not see them. One bit a hash of the account:
 * accounts with the same hash count together. The writer thread owns it. Zeroed is empty. */
enum { UNCOMMITTED_MARKS = 4096 };

struct uncommitted {
	uint64_t marks[UNCOMMITTED_MARKS / 64];
};

/* Marks the accounts of applied writes. Rows of META belong to no account and are skipped. */
void uncommitted_on_writes(struct uncommitted *uncommitted, const struct writes *writes);
bool uncommitted_has(const struct uncommitted *uncommitted, struct account_id account);
/* Call after everything has been committed. */
void uncommitted_clear(struct uncommitted *uncommitted);
