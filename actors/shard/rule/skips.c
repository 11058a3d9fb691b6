/* A hash table of counts that only grows. A rule keeps its row; the hash is the last bytes of its id, which are random. */
#include "actors/shard/rule/skips.h"

#include <string.h>

/* The rule's row, or the free row for it; NULL: other rules have all rows. */
static const struct rule_skips_row *find(const struct rule_skips *skips, struct uuid rule)
{
	uint32_t at;
	memcpy(&at, rule.b + sizeof rule.b - sizeof at, sizeof at);
	for (uint32_t i = 0; i < RULES_SKIPPING_MAX; i++) {
		const struct rule_skips_row *row = &skips->rows[(at + i) % RULES_SKIPPING_MAX];
		bool is_free = !atomic_load_explicit(&row->count, memory_order_acquire);
		if (is_free || uuid_same(row->rule, rule)) return row;
	}
	return NULL;
}

uint64_t rule_skips_add(struct rule_skips *skips, struct uuid rule)
{
	const struct rule_skips_row *found = find(skips, rule);
	atomic_fetch_add_explicit(&skips->all, 1, memory_order_relaxed);
	if (!found) return 0;
	struct rule_skips_row *row = &skips->rows[found - skips->rows];
	uint64_t               count = atomic_load_explicit(&row->count, memory_order_relaxed) + 1;
	if (count == 1) row->rule = rule; /* before a reader sees the count */
	atomic_store_explicit(&row->count, count, memory_order_release);
	return count;
}

uint64_t rule_skips_of(const struct rule_skips *skips, struct uuid rule)
{
	const struct rule_skips_row *row = find(skips, rule);
	return row ? atomic_load_explicit(&row->count, memory_order_relaxed) : 0;
}
