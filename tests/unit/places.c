/* http/places.h: who gives way when places run out. */
#include "http/places.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>

enum { MANY = 8 };

static struct places places;
static struct place  place[MANY];

static mono_us at_ms(int64_t ms)
{
	return (mono_us){1000000 + ms * US_PER_MS};
}

static void take(unsigned i, enum place_kind kind, int64_t ms)
{
	place_take(&places, &place[i], kind, at_ms(ms));
}

/* Everybody who may goes, one after the other, at one instant. */
static void expect_order(int64_t ms, const unsigned *want, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct place *first = places_first(&places, at_ms(ms));
		cr_assert(first, "%u", i);
		cr_expect_eq(first, &place[want[i]], "at %u: got %u", i, (unsigned)(first - place));
		place_leave(&places, first);
		place_free(&places, first);
	}
	cr_expect_null(places_first(&places, at_ms(ms)));
}

#define EXPECT_ORDER(ms, ...) \
	expect_order(ms, (unsigned[]){__VA_ARGS__}, sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

Test(places, the_unfinished_go_first_then_the_idle_then_the_slow)
{
	places_open(&places, MANY);
	take(0, PLACE_IDLE, 0);
	take(1, PLACE_FIRM, 0);
	take(2, PLACE_SLOW, 0);
	take(3, PLACE_UNFINISHED, 10);
	take(4, PLACE_IDLE, 20);
	take(5, PLACE_UNFINISHED, 30);
	take(6, PLACE_SLOW, 40);
	EXPECT_ORDER(10000, 3, 5, 0, 4, 2, 6);
	cr_expect_eq(places.taken, 1);
}

Test(places, a_newcomer_has_a_moment)
{
	places_open(&places, MANY);
	take(0, PLACE_SLOW, 0);
	take(1, PLACE_IDLE, 1000);
	take(2, PLACE_UNFINISHED, 1000);
	take(3, PLACE_UNFINISHED, 1001);
	take(4, PLACE_FIRM, 0);
	take(5, PLACE_FIRM, 0);
	cr_expect_eq(places_first(&places, at_ms(1000 + NEWCOMER_MS)), &place[2]);
	EXPECT_ORDER(1000 + NEWCOMER_MS - 1, 1, 0);
	EXPECT_ORDER(1000 + NEWCOMER_MS, 2);
	EXPECT_ORDER(1001 + NEWCOMER_MS, 3);
}

/* Strangers hold every other place in other ways, and come again and again: whoever is honest is not the next to go. */
Test(places, a_newcomer_is_not_put_out_by_the_next)
{
	places_open(&places, 4);
	take(0, PLACE_IDLE, 0);
	take(1, PLACE_IDLE, 1);
	take(2, PLACE_IDLE, 2);
	take(3, PLACE_UNFINISHED, 5000);
	cr_expect_eq(places_first(&places, at_ms(5001)), &place[0]);
	place_turn(&places, &place[0], PLACE_FIRM, at_ms(5001));
	EXPECT_ORDER(5001, 1, 2);
}

/* When most of all are new, those who come are the flood themselves: nobody is to wait outside for its end. */
Test(places, newcomers_put_each_other_out_when_they_are_most_of_all)
{
	places_open(&places, MANY);
	take(0, PLACE_FIRM, 0);
	take(1, PLACE_FIRM, 0);
	take(2, PLACE_UNFINISHED, 0);
	take(3, PLACE_UNFINISHED, 1);
	cr_expect_null(places_first(&places, at_ms(2)));
	take(4, PLACE_UNFINISHED, 2); /* whether or not all places are taken: descriptors may be fewer */
	EXPECT_ORDER(2, 2);
}

Test(places, time_counts_from_when_it_became_of_its_kind)
{
	places_open(&places, MANY);
	take(0, PLACE_UNFINISHED, 0);
	take(1, PLACE_UNFINISHED, 1);
	take(2, PLACE_UNFINISHED, 2);
	place_turn(&places, &place[0], PLACE_UNFINISHED, at_ms(3)); /* a drip buys no time */
	place_turn(&places, &place[1], PLACE_FIRM, at_ms(4));
	place_turn(&places, &place[2], PLACE_FIRM, at_ms(5));
	place_turn(&places, &place[2], PLACE_IDLE, at_ms(6));
	place_turn(&places, &place[1], PLACE_IDLE, at_ms(7));
	cr_expect_eq(places.counts[PLACE_IDLE], 2);
	cr_expect_eq(places.counts[PLACE_FIRM], 0);
	cr_expect_eq(place[0].since.v, at_ms(0).v);
	place_turn(&places, &place[2], PLACE_FIRM, at_ms(8)); /* its next request */
	place_turn(&places, &place[2], PLACE_IDLE, at_ms(9));
	EXPECT_ORDER(1000, 0, 1, 2);
}

Test(places, whoever_leaves_makes_room_at_once_and_has_no_other_turn)
{
	places_open(&places, 2);
	take(0, PLACE_IDLE, 0);
	cr_expect_not(places_are_full(&places));
	take(1, PLACE_FIRM, 0);
	cr_expect(places_are_full(&places));
	cr_expect_not(places_await_leavers(&places));
	place_leave(&places, &place[0]);
	place_leave(&places, &place[0]);
	cr_expect_not(places_are_full(&places));
	cr_expect(places_await_leavers(&places));
	place_turn(&places, &place[0], PLACE_UNFINISHED, at_ms(1));
	cr_expect_null(places_first(&places, at_ms(1000)));
	cr_expect_eq(places.taken, 2);
	place_free(&places, &place[0]);
	cr_expect_eq(places.taken, 1);
	cr_expect_not(places_await_leavers(&places));
	place_free(&places, &place[1]);
	cr_expect_eq(places.taken, 0);
	cr_expect_eq(places.counts[PLACE_FIRM], 0);
}
