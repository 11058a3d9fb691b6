#pragma once
#include "schemas/clock.h"

#include <h2o.h>
#include <stdbool.h>

/* The places of one listener's connections, and which one is evicted when they run out. Each connection has a kind; those of a
 * kind are ordered by how long they have had it. This module does not know sockets. Errors: none. */
enum entry_kind {
	ENTRY_UNFINISHED, /* handshakes, heads, silent newcomers; connections being closed */
	ENTRY_IDLE,       /* between two requests */
	ENTRY_SLOW,       /* a body or an answer that hardly moves */
	ENTRY_FIRM,       /* a request in progress: never evicted */
	ENTRY_KINDS
};

struct table_entry {
	h2o_linklist_t  link;
	enum entry_kind kind;
	mono_us         since; /* when it became of this kind */
	bool            leaves;
};

struct connection_table {
	h2o_linklist_t lines[ENTRY_KINDS];
	unsigned       counts[ENTRY_KINDS]; /* without leaving ones */
	unsigned       taken;               /* with leaving ones */
	unsigned       max;                 /* without leaving ones */
};

void connection_table_open(struct connection_table *table, unsigned max);

/* A connection arrives, changes its kind (no effect if it is the same), begins to leave, is gone. A leaving connection has no
 * kind. */
void entry_take(struct connection_table *table, struct table_entry *entry, enum entry_kind kind, mono_us now);
void entry_change(struct connection_table *table, struct table_entry *entry, enum entry_kind kind,
                  mono_us now);
void entry_leave(struct connection_table *table, struct table_entry *entry);
void entry_free(struct connection_table *table, struct table_entry *entry);

/* Are all places taken? */
bool connection_table_is_full(const struct connection_table *table);

/* Is a connection still leaving? */
bool connection_table_awaits_leavers(const struct connection_table *table);

/* The connection to evict: the unfinished one that has waited longest, if for NEWCOMER_MS; else the longest idle; else the
 * longest slow; else an unfinished one after all, if they are more than half of all. NULL: none. */
struct table_entry *connection_table_first(const struct connection_table *table, mono_us now);
