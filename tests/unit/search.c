/* schemas/search.h: the same verdict as looking at every place, whatever text and needle. */
#include "schemas/search.h"

#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <string.h>

enum { TEXT_MAX = 4000, WHAT_MAX = 40 };

static size_t first_place(struct span text, struct span what)
{
	for (size_t at = 0; at + what.size <= text.size; at++)
		if (!memcmp(text.at + at, what.at, what.size)) return at;
	return text.size;
}

static void fill(uint64_t *state, uint8_t *bytes, size_t size, unsigned letters)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)('a' + chance_below(state, letters));
}

Test(search, says_what_looking_at_every_place_says)
{
	static uint8_t text[TEXT_MAX], what[WHAT_MAX];
	uint64_t       state = chance_begin();
	for (unsigned round = 0; round < 20000; round++) {
		unsigned letters = 1 + chance_below(&state, 4);
		size_t   size = chance_below(&state, round % 10 ? 120 : TEXT_MAX);
		size_t   what_size = chance_below(&state, WHAT_MAX);
		fill(&state, text, size, letters);
		fill(&state, what, what_size, letters);
		bool from_text = what_size && size > what_size && chance_below(&state, 3) == 0;
		if (from_text)
			memcpy(what, text + chance_below(&state, (unsigned)(size - what_size + 1)),
			       what_size);
		struct span in = span_of(text, size), sought = span_of(what, what_size);
		size_t      place = first_place(in, sought);
		cr_assert_eq(span_find(in, sought), place, "round %u: %zu in %zu", round, what_size, size);
		cr_assert_eq(span_holds(in, sought), what_size == 0 || place < size, "round %u", round);
	}
}

/* One letter over and over: nearly every place looks right at both ends. */
Test(search, goes_on_where_nearly_every_place_looks_right)
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
