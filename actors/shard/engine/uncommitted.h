#pragma once
#include "schemas/ids.h"
#include "store/writes.h"

/* The accounts with rows that are applied and not yet committed, so that readers do not see them. A bit an account, by hash:
 * an account that shares its bit counts too. The writer's. Zeroed is empty. */
enum { UNCOMMITTED_MARKS = 4096 };

struct uncommitted {
	uint64_t marks[UNCOMMITTED_MARKS / 64];
};

/* These have been applied. Rows of META belong to no account and are left out. */
void uncommitted_on_writes(struct uncommitted *uncommitted, const struct writes *writes);
bool uncommitted_has(const struct uncommitted *uncommitted, struct account_id account);
/* Everything has been committed. */
void uncommitted_clear(struct uncommitted *uncommitted);
