#pragma once
#include "schemas/span.h"

/* Does `text` contain `what`, byte for byte? The empty span is in everything. For short texts and for megabytes
 * alike. */
bool span_holds(struct span text, struct span what);

/* The position of its first occurrence; the text's size: none (the empty span: 0). */
size_t span_find(struct span text, struct span what);

/* A bit for each position of `text` where `what` occurs, overlaps included, 64 a word, the first in the lowest bit.
 * *any: is there one? False: not searched, use span_find() instead: `what` is empty, the text longer than
 * PLACES_BYTES_MAX or too short for the vector code, or it has too many false candidates. */
enum { PLACES_BYTES_MAX = 4096, PLACES_WORDS_MAX = PLACES_BYTES_MAX / 64 + 3 };
bool span_places(struct span text, struct span what, uint64_t places[PLACES_WORDS_MAX], bool *any);

/* Is any of the `count` positions from `from` on set? `what` must fit the text at each of them. */
static inline bool places_have(const uint64_t places[PLACES_WORDS_MAX], size_t from, size_t count)
{
	for (;; from += 64, count -= 64) {
		uint64_t here = places[from / 64] >> from % 64 | places[from / 64 + 1] << 1
		                                                                       << (63 - from % 64);
		if (count <= 64) return count && here << (64 - count);
		if (here) return true;
	}
}
