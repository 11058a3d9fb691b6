#pragma once
#include "schemas/ids.h"
#include "schemas/limits.h"

#include <stdatomic.h>

/* How often actions of rules could not be done, since the start of the process: all of them, and by rule. The writer alone
 * adds; any thread may look. Zeroed is empty. Units: actions. Errors: none. */
struct rule_skips {
	atomic_uint_fast64_t all;
	struct rule_skips_row {
		struct uuid          rule; /* never changes once `count` is not 0 */
		atomic_uint_fast64_t count;
	} rows[RULES_SKIPPING_MAX];
};

/* Counts one more of the rule, and returns how many it has. 0: there is no row for another rule, so only `all` counts it. */
uint64_t rule_skips_add(struct rule_skips *skips, struct uuid rule);

/* How many the rule has. */
uint64_t rule_skips_of(const struct rule_skips *skips, struct uuid rule);
