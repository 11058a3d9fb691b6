/* http/connection_table.h: the order of eviction when no slot is free. */
#include "http/connection_table.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>

enum { MANY = 8 };

static struct connection_table table;
static struct table_entry      entry[MANY];

static mono_us at_ms(int64_t ms)
{
	return (mono_us){1000000 + ms * US_PER_MS};
}

static void take(unsigned i, enum entry_kind kind, int64_t ms)
{
	entry_take(&table, &entry[i], kind, at_ms(ms));
}

/* Evicts all connections that may be evicted, one after the other, at one instant. */
static void expect_order(int64_t ms, const unsigned *want, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct table_entry *first = connection_table_first(&table, at_ms(ms));
		cr_assert(first, "%u", i);
		cr_expect_eq(first, &entry[want[i]], "at %u: got %u", i, (unsigned)(first - entry));
		entry_leave(&table, first);
		entry_free(&table, first);
	}
	cr_expect_null(connection_table_first(&table, at_ms(ms)));
}

#define EXPECT_ORDER(ms, ...) \
	expect_order(ms, (unsigned[]){__VA_ARGS__}, sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

Test(connection_table, unfinished_are_evicted_first_then_idle_then_slow)
{
	connection_table_open(&table, MANY);
	take(0, ENTRY_IDLE, 0);
	take(1, ENTRY_FIRM, 0);
	take(2, ENTRY_SLOW, 0);
	take(3, ENTRY_UNFINISHED, 10);
	take(4, ENTRY_IDLE, 20);
	take(5, ENTRY_UNFINISHED, 30);
	take(6, ENTRY_SLOW, 40);
	EXPECT_ORDER(10000, 3, 5, 0, 4, 2, 6);
	cr_expect_eq(table.taken, 1);
}

Test(connection_table, a_new_connection_is_protected_for_a_moment)
{
	connection_table_open(&table, MANY);
	take(0, ENTRY_SLOW, 0);
	take(1, ENTRY_IDLE, 1000);
	take(2, ENTRY_UNFINISHED, 1000);
	take(3, ENTRY_UNFINISHED, 1001);
	take(4, ENTRY_FIRM, 0);
	take(5, ENTRY_FIRM, 0);
	cr_expect_eq(connection_table_first(&table, at_ms(1000 + NEWCOMER_MS)), &entry[2]);
	EXPECT_ORDER(1000 + NEWCOMER_MS - 1, 1, 0);
	EXPECT_ORDER(1000 + NEWCOMER_MS, 2);
	EXPECT_ORDER(1001 + NEWCOMER_MS, 3);
}

/* Hostile clients hold all other slots in other states and reconnect continuously. The honest client must not
 * be the next to be evicted. */
Test(connection_table, a_new_connection_is_not_evicted_by_the_next)
{
	connection_table_open(&table, 4);
	take(0, ENTRY_IDLE, 0);
	take(1, ENTRY_IDLE, 1);
	take(2, ENTRY_IDLE, 2);
	take(3, ENTRY_UNFINISHED, 5000);
	cr_expect_eq(connection_table_first(&table, at_ms(5001)), &entry[0]);
	entry_change(&table, &entry[0], ENTRY_FIRM, at_ms(5001));
	EXPECT_ORDER(5001, 1, 2);
}

/* When most connections are new, new connections are the flood itself. They may be evicted early, so that
 * clients outside need not wait for its end. */
Test(connection_table, new_connections_evict_each_other_when_they_are_the_majority)
{
	connection_table_open(&table, MANY);
	take(0, ENTRY_FIRM, 0);
	take(1, ENTRY_FIRM, 0);
	take(2, ENTRY_UNFINISHED, 0);
	take(3, ENTRY_UNFINISHED, 1);
	cr_expect_null(connection_table_first(&table, at_ms(2)));
	take(4, ENTRY_UNFINISHED, 2); /* also while slots are free: there may be fewer descriptors */
	EXPECT_ORDER(2, 2);
}

Test(connection_table, time_counts_from_the_last_change_of_state)
{
	connection_table_open(&table, MANY);
	take(0, ENTRY_UNFINISHED, 0);
	take(1, ENTRY_UNFINISHED, 1);
	take(2, ENTRY_UNFINISHED, 2);
	entry_change(&table, &entry[0], ENTRY_UNFINISHED,
	             at_ms(3)); /* a slow drip does not extend the time */
	entry_change(&table, &entry[1], ENTRY_FIRM, at_ms(4));
	entry_change(&table, &entry[2], ENTRY_FIRM, at_ms(5));
	entry_change(&table, &entry[2], ENTRY_IDLE, at_ms(6));
	entry_change(&table, &entry[1], ENTRY_IDLE, at_ms(7));
	cr_expect_eq(table.counts[ENTRY_IDLE], 2);
	cr_expect_eq(table.counts[ENTRY_FIRM], 0);
	cr_expect_eq(entry[0].since.v, at_ms(0).v);
	entry_change(&table, &entry[2], ENTRY_FIRM, at_ms(8)); /* its next request */
	entry_change(&table, &entry[2], ENTRY_IDLE, at_ms(9));
	EXPECT_ORDER(1000, 0, 1, 2);
}

Test(connection_table, a_closed_connection_frees_its_slot_at_once)
{
	connection_table_open(&table, 2);
	take(0, ENTRY_IDLE, 0);
	cr_expect_not(connection_table_is_full(&table));
	take(1, ENTRY_FIRM, 0);
	cr_expect(connection_table_is_full(&table));
	cr_expect_not(connection_table_awaits_leavers(&table));
	entry_leave(&table, &entry[0]);
	entry_leave(&table, &entry[0]);
	cr_expect_not(connection_table_is_full(&table));
	cr_expect(connection_table_awaits_leavers(&table));
	entry_change(&table, &entry[0], ENTRY_UNFINISHED, at_ms(1));
	cr_expect_null(connection_table_first(&table, at_ms(1000)));
	cr_expect_eq(table.taken, 2);
	entry_free(&table, &entry[0]);
	cr_expect_eq(table.taken, 1);
	cr_expect_not(connection_table_awaits_leavers(&table));
	entry_free(&table, &entry[1]);
	cr_expect_eq(table.taken, 0);
	cr_expect_eq(table.counts[ENTRY_FIRM], 0);
}
