#pragma once
#include "schemas/ids.h"
#include "schemas/limits.h"

#include <stdatomic.h>

/* How often actions of rules could not be done, since the start of the process: all of them, and by rule. The writer alone
 * adds; any thread may look. Zeroed is empty. Units: actions. Errors: none. */
struct rule_skips {
	atomic_uint_fast64_t all;
	struct rule_skips_row {
		struct uuid          rule; /* fixed once `count` is not 0 */
		atomic_uint_fast64_t count;
	} rows[RULES_SKIPPING_MAX];
};

/* One more of this rule's: how many that makes. 0: no room for another rule, which is in `all` only. */
uint64_t rule_skips_add(struct rule_skips *skips, struct uuid rule);

/* How many of this rule's. */
uint64_t rule_skips_of(const struct rule_skips *skips, struct uuid rule);
