/* When places run out, connections are evicted by what they are worth to their client. An unfinished one has cost nothing yet,
 * and strangers can open many, so it goes first. But if strangers hold all places in other states, a newcomer would be the
 * only unfinished one and would be evicted by the next. So it is protected for NEWCOMER_MS. */
#include "http/connection_table.h"
#include "schemas/limits.h"

void connection_table_open(struct connection_table *table, unsigned max)
{
	*table = (struct connection_table){.max = max};
	for (unsigned kind = 0; kind < ENTRY_KINDS; kind++)
		h2o_linklist_init_anchor(&table->lines[kind]);
}

static void stand(struct connection_table *table, struct table_entry *entry, enum entry_kind kind,
                  mono_us now)
{
	entry->kind = kind;
	entry->since = now;
	table->counts[kind]++;
	h2o_linklist_insert(&table->lines[kind], &entry->link);
}

void entry_take(struct connection_table *table, struct table_entry *entry, enum entry_kind kind, mono_us now)
{
	*entry = (struct table_entry){.leaves = false};
	table->taken++;
	stand(table, entry, kind, now);
}

void entry_change(struct connection_table *table, struct table_entry *entry, enum entry_kind kind,
                  mono_us now)
{
	if (entry->leaves || entry->kind == kind) return;
	h2o_linklist_unlink(&entry->link);
	table->counts[entry->kind]--;
	stand(table, entry, kind, now);
}

void entry_leave(struct connection_table *table, struct table_entry *entry)
{
	if (entry->leaves) return;
	h2o_linklist_unlink(&entry->link);
	table->counts[entry->kind]--;
	entry->leaves = true;
}

void entry_free(struct connection_table *table, struct table_entry *entry)
{
	entry_leave(table, entry);
	table->taken--;
}

static unsigned stay(const struct connection_table *table)
{
	unsigned sum = 0;
	for (unsigned kind = 0; kind < ENTRY_KINDS; kind++)
		sum += table->counts[kind];
	return sum;
}

bool connection_table_is_full(const struct connection_table *table)
{
	return stay(table) >= table->max;
}

bool connection_table_awaits_leavers(const struct connection_table *table)
{
	return table->taken > stay(table);
}

static struct table_entry *first_of(const struct connection_table *table, enum entry_kind kind)
{
	const h2o_linklist_t *line = &table->lines[kind];
	return line->next == line ? NULL : H2O_STRUCT_FROM_MEMBER(struct table_entry, link, line->next);
}

struct table_entry *connection_table_first(const struct connection_table *table, mono_us now)
{
	struct table_entry *unfinished = first_of(table, ENTRY_UNFINISHED);
	struct table_entry *idle = first_of(table, ENTRY_IDLE), *slow = first_of(table, ENTRY_SLOW);
	bool waited = unfinished && mono_since(now, unfinished->since).v >= NEWCOMER_MS * US_PER_MS;
	if (waited) return unfinished;
	if (idle) return idle;
	if (slow) return slow;
	return table->counts[ENTRY_UNFINISHED] > stay(table) / 2 ? unfinished : NULL;
}
