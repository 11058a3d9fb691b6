#pragma once
#include "schemas/clock.h"

#include <h2o.h>
#include <stdbool.h>

/* The places that connections of one listener take, and who gives way when they run out. Each connection is of one kind;
 * those of a kind stand in line by how long they have been of it. Nothing here knows of sockets. Errors: none. */
enum entry_kind {
	ENTRY_UNFINISHED, /* handshakes, heads, silent newcomers; what is being closed */
	ENTRY_IDLE,       /* between two requests */
	ENTRY_SLOW,       /* a body or an answer that hardly moves */
	ENTRY_FIRM,       /* a request under way: gives way to nobody */
	ENTRY_KINDS
};

struct table_entry {
	h2o_linklist_t  link;
	enum entry_kind kind;
	mono_us         since; /* it is of this kind */
	bool            leaves;
};

struct connection_table {
	h2o_linklist_t lines[ENTRY_KINDS];
	unsigned       counts[ENTRY_KINDS]; /* of those who stay */
	unsigned       taken;               /* by those who leave, too */
	unsigned       max;                 /* of those who stay */
};

void connection_table_open(struct connection_table *table, unsigned max);

/* A connection that has come, is of another kind from now on (nothing changes if it is not), has been told to leave, has
 * gone. One that leaves has no kind any more. */
void entry_take(struct connection_table *table, struct table_entry *entry, enum entry_kind kind, mono_us now);
void entry_change(struct connection_table *table, struct table_entry *entry, enum entry_kind kind,
                  mono_us now);
void entry_leave(struct connection_table *table, struct table_entry *entry);
void entry_free(struct connection_table *table, struct table_entry *entry);

/* Is there none left for another connection? */
bool connection_table_is_full(const struct connection_table *table);

/* Has one been told to leave that is not gone yet? */
bool connection_table_awaits_leavers(const struct connection_table *table);

/* Who gives way: of the unfinished the one that has waited longest, but not before NEWCOMER_MS; else the one that has
 * idled longest; else the one that has been slow for longest; else an unfinished one after all, if they are more than half
 * of all. NULL: nobody. */
struct table_entry *connection_table_first(const struct connection_table *table, mono_us now);
