/* Substring search. Tests sixteen positions at once: those whose first and last byte match are compared in full.
 * These are rare, so the speed is that of reading the text. If they are not rare (one letter repeated), the C
 * library's memmem() takes over, whose time is always linear. */
#include "schemas/search.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>

enum { PLACES = 16, FAILURES_FEW = 64, FAILURES_SHARE = 32 /* one in this many bytes */ };

static inline __m128i load(const uint8_t *at)
{
	return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* Searches from *at on, while PLACES more positions can be tested within the text. True: found at *at. */
static bool find_by_places(struct span text, struct span what, size_t *at)
{
	const __m128i first = _mm_set1_epi8((char)what.at[0]),
	              last = _mm_set1_epi8((char)what.at[what.size - 1]);
	size_t failures = 0;
	for (; *at + what.size - 1 + PLACES <= text.size; *at += PLACES) {
		const uint8_t *here = text.at + *at;
		__m128i        both = _mm_and_si128(_mm_cmpeq_epi8(load(here), first),
		                                    _mm_cmpeq_epi8(load(here + what.size - 1), last));
		for (unsigned bits = (unsigned)_mm_movemask_epi8(both); bits; bits &= bits - 1, failures++)
			if (!memcmp(here + __builtin_ctz(bits), what.at, what.size)) {
				*at += (unsigned)__builtin_ctz(bits);
				return true;
			}
		if (failures > FAILURES_FEW + *at / FAILURES_SHARE)
			return false; /* memmem() continues from here */
	}
	return false;
}

static inline uint32_t four(const uint8_t *at)
{
	uint32_t four;
	memcpy(&four, at, sizeof four);
	return four;
}

/* Compares the rest: first and last byte match already. Words of a few letters, the usual case, have fast paths. */
static inline bool is_there(const uint8_t *here, struct span what)
{
	if (what.size < 4) return what.size < 3 || here[1] == what.at[1];
	size_t last = what.size - 4;
	if (last <= 4) return four(here) == four(what.at) && four(here + last) == four(what.at + last);
	return !memcmp(here, what.at, what.size);
}

/* A bit for each of the PLACES positions from `here` on where it occurs. */
static inline unsigned begins_at(const uint8_t *here, struct span what, __m128i first, __m128i last,
                                 unsigned *failures)
{
	__m128i  both = _mm_and_si128(_mm_cmpeq_epi8(load(here), first),
	                              _mm_cmpeq_epi8(load(here + what.size - 1), last));
	unsigned bits = (unsigned)_mm_movemask_epi8(both), right = bits;
	for (; bits && what.size > 2; bits &= bits - 1) {
		if (is_there(here + __builtin_ctz(bits), what)) continue;
		right &= ~(bits & -bits);
		++*failures;
	}
	return right;
}

bool span_places(struct span text, struct span what, uint64_t places[PLACES_WORDS_MAX], bool *any)
{
	if (what.size == 0 || text.size > PLACES_BYTES_MAX || text.size < what.size - 1 + PLACES)
		return false;
	const __m128i first = _mm_set1_epi8((char)what.at[0]),
	              last = _mm_set1_epi8((char)what.at[what.size - 1]);
	size_t end = text.size - (what.size - 1) -
	             PLACES; /* the last window, which may overlap the one before */
	unsigned failures = 0;
	uint64_t all = 0;
	size_t   at = 0;
	for (; at + 64 - PLACES <= end; at += 64) {
		uint64_t word = 0;
		for (unsigned i = 0; i < 64; i += PLACES)
			word |= (uint64_t)begins_at(text.at + at + i, what, first, last, &failures) << i;
		all |= places[at / 64] = word;
		if (failures > FAILURES_FEW) return false;
	}
	memset(&places[at / 64], 0, 3 * sizeof *places);
	for (bool is_over = false; !is_over; at += PLACES) {
		is_over = at >= end;
		if (is_over) at = end;
		uint64_t bits = begins_at(text.at + at, what, first, last, &failures);
		all |= bits;
		places[at / 64] |= bits << at % 64;
		places[at / 64 + 1] |= bits >> 1 >> (63 - at % 64);
	}
	*any = all != 0;
	return failures <= FAILURES_FEW;
}
#else
static bool find_by_places(struct span text, struct span what, size_t *at)
{
	(void)text, (void)what, (void)at;
	return false;
}

bool span_places(struct span text, struct span what, uint64_t places[PLACES_WORDS_MAX], bool *any)
{
	(void)text, (void)what, (void)places, (void)any;
	return false;
}
#endif

size_t span_find(struct span text, struct span what)
{
	size_t at = 0;
	if (what.size == 0) return 0;
	if (what.size > text.size) return text.size;
	if (find_by_places(text, what, &at)) return at;
	const uint8_t *found = memmem(text.at + at, text.size - at, what.at, what.size);
	return found ? (size_t)(found - text.at) : text.size;
}

bool span_holds(struct span text, struct span what)
{
	return what.size == 0 || span_find(text, what) < text.size;
}
