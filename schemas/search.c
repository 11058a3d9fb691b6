/* Substring search. Sixteen places are looked at together: those where the first and the last byte of what is sought
 * are both right are compared in full. Rare ones remain, so the speed is that of reading the text. Where they turn out
 * not to be rare (one letter over and over), the C library goes on, whose memmem() takes linear time whatever it is. */
#include "schemas/search.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>

enum { PLACES = 16, FAILURES_FEW = 64, FAILURES_SHARE = 32 /* one in so many bytes */ };

static inline __m128i load(const uint8_t *at)
{
	return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* From *at on, as long as PLACES more can be looked at without reading behind the text. True: it is at *at. */
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
			return false; /* from here on again, by memmem() */
	}
	return false;
}
#else
static bool find_by_places(struct span text, struct span what, size_t *at)
{
	(void)text, (void)what, (void)at;
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
