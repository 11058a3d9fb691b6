/* schemas/search.h: the same result as a naive search, for any text and needle. */
#include "schemas/search.h"

#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4000, WHAT_MAX = 40, LONG_WHAT_MAX = 300 };

static size_t first_place(struct span text, struct span what)
{
	for (size_t at = 0; at + what.size <= text.size; at++)
		if (!memcmp(text.at + at, what.at, what.size)) return at;
	return text.size;
}

static void fill(uint64_t *state, uint8_t *bytes, size_t size, unsigned packets)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)('a' + chance_below(state, packets));
}

Test(search, equals_a_naive_search)
{
	static uint8_t text[TEXT_MAX], what[WHAT_MAX];
	uint64_t       state = chance_begin();
	for (unsigned round = 0; round < 20000; round++) {
		unsigned packets = 1 + chance_below(&state, 4);
		size_t   size = chance_below(&state, round % 10 ? 120 : TEXT_MAX);
		size_t   what_size = chance_below(&state, WHAT_MAX);
		fill(&state, text, size, packets);
		fill(&state, what, what_size, packets);
		bool from_text = what_size && size > what_size && chance_below(&state, 3) == 0;
		if (from_text)
			memcpy(what, text + chance_below(&state, (unsigned)(size - what_size + 1)),
			       what_size);
		struct span in = span_of(text, size), sought = span_of(what, what_size);
		size_t      test_dir = first_place(in, sought);
		cr_assert_eq(span_find(in, sought), test_dir, "round %u: %zu in %zu", round, what_size, size);
		cr_assert_eq(span_holds(in, sought), what_size == 0 || test_dir < size, "round %u", round);
	}
}

/* One repeated letter: nearly every position matches at both ends of the needle. */
Test(search, continues_where_nearly_every_position_matches)
{
	static uint8_t text[TEXT_MAX];
	uint8_t        what[] = "aaaaaaaabaaaaaaa";
	struct span    sought = span_of(what, sizeof what - 1);
	memset(text, 'a', sizeof text);
	cr_expect_not(span_holds(span_of(text, sizeof text), sought));
	memcpy(text + TEXT_MAX - sought.size, what, sought.size);
	cr_expect(span_holds(span_of(text, sizeof text), sought));
	memset(text, 'a', sizeof text);
	memcpy(text, what, sought.size);
	cr_expect(span_holds(span_of(text, sizeof text), sought));
}

static bool begins_at(struct span text, struct span what, size_t at)
{
	return at + what.size <= text.size && !memcmp(text.at + at, what.at, what.size);
}

/* In memory that ends with the text, so that a read beyond it is detected. */
static uint8_t *alone(struct span text)
{
	uint8_t *copy = malloc(text.size + !text.size);
	cr_assert_not_null(copy);
	memcpy(copy, text.at, text.size);
	return copy;
}

Test(search, finds_every_position)
{
	static uint8_t  text[PLACES_BYTES_MAX + 10], what[LONG_WHAT_MAX];
	static uint64_t places[PLACES_WORDS_MAX];
	uint64_t        state = chance_begin();
	unsigned        known = 0;
	for (unsigned round = 0; round < 20000; round++) {
		size_t   size = chance_below(&state, round % 50 ? 300 : sizeof text);
		size_t   what_size = chance_below(&state, round % 8 ? 12 : LONG_WHAT_MAX);
		unsigned packets = 2 + chance_below(&state, 20);
		bool     any;
		fill(&state, text, size, packets);
		fill(&state, what, what_size, packets);
		bool from_text = what_size && size > what_size && chance_below(&state, 2);
		if (from_text)
			memcpy(what, text + chance_below(&state, (unsigned)(size - what_size)), what_size);
		if (from_text && chance_below(&state, 2))
			what[chance_below(&state, (unsigned)what_size)] = 'a';
		uint8_t    *copy = alone(span_of(text, size));
		struct span in = span_of(copy, size), sought = span_of(what, what_size);
		memset(places, 0x55, sizeof places);
		bool is_known = span_places(in, sought, places, &any);
		known += is_known;
		if (is_known) cr_assert_eq(any, span_holds(in, sought));
		size_t room = is_known ? size - what_size + 1 : 0; /* the positions from which it fits */
		for (size_t at = 0; at < room; at++)
			cr_assert_eq(places[at / 64] >> at % 64 & 1, begins_at(in, sought, at),
			             "round %u: %zu of %zu", round, at, size);
		size_t from = room ? chance_below(&state, (unsigned)room) : 0,
		       count = room ? chance_below(&state, (unsigned)(room - from) + 1) : 0;
		bool should = false;
		for (size_t i = 0; i < count; i++)
			should |= begins_at(in, sought, from + i);
		if (count)
			cr_assert_eq(places_have(places, from, count), should, "round %u: %zu from %zu on",
			             round, count, from);
		free(copy);
	}
#if defined(__SSE2__)
	cr_expect_geq(known, 10000);
#endif
}

Test(search, declines_needles_that_it_would_be_slow_for)
{
	static uint8_t  text[PLACES_BYTES_MAX + 1];
	static uint64_t places[PLACES_WORDS_MAX];
	bool            any;
	memset(text, 'a', sizeof text);
	cr_expect_not(span_places(span_of(text, sizeof text), span_str("a"), places, &any));
	cr_expect_not(span_places(span_of(text, 1000), span_str("aaabaaa"), places, &any));
	cr_expect_not(span_places(span_of(text, 10), span_str("a"), places, &any));
	cr_expect_not(span_places(span_of(text, 100), span_of(NULL, 0), places, &any));
}
