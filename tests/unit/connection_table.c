/* http/connection_table.h: who gives way when places run out. */
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

/* Everybody who may goes, one after the other, at one instant. */
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

Test(connection_table, the_unfinished_go_first_then_the_idle_then_the_slow)
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

Test(connection_table, a_newcomer_has_a_moment)
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

/* Strangers hold every other place in other ways, and come again and again: whoever is honest is not the next to go. */
Test(connection_table, a_newcomer_is_not_put_out_by_the_next)
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

/* When most of all are new, those who come are the flood themselves: nobody is to wait outside for its end. */
Test(connection_table, newcomers_put_each_other_out_when_they_are_most_of_all)
{
	connection_table_open(&table, MANY);
	take(0, ENTRY_FIRM, 0);
	take(1, ENTRY_FIRM, 0);
	take(2, ENTRY_UNFINISHED, 0);
	take(3, ENTRY_UNFINISHED, 1);
	cr_expect_null(connection_table_first(&table, at_ms(2)));
	take(4, ENTRY_UNFINISHED, 2); /* whether or not all places are taken: descriptors may be fewer */
	EXPECT_ORDER(2, 2);
}

Test(connection_table, time_counts_from_when_it_became_of_its_kind)
{
	connection_table_open(&table, MANY);
	take(0, ENTRY_UNFINISHED, 0);
	take(1, ENTRY_UNFINISHED, 1);
	take(2, ENTRY_UNFINISHED, 2);
	entry_change(&table, &entry[0], ENTRY_UNFINISHED, at_ms(3)); /* a drip buys no time */
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

Test(connection_table, whoever_leaves_makes_room_at_once_and_has_no_other_turn)
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
