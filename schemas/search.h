#pragma once
#include "schemas/span.h"

/* Does `text` hold `what`, byte for byte? The empty span is in everything. For short texts and for megabytes alike. */
bool span_holds(struct span text, struct span what);

/* Where it begins for the first time; the text's size: nowhere (the empty span: at 0). */
size_t span_find(struct span text, struct span what);

/* A bit for each place of `text` where `what` begins, 64 a word, the first in the lowest bit; also where it begins again
 * before its end. *any: is there one? False: it was not sought, and span_find() is to be asked instead: `what` is empty,
 * the text longer than PLACES_BYTES_MAX, full of places that only look right, or shorter than the machine likes. */
enum { PLACES_BYTES_MAX = 4096, PLACES_WORDS_MAX = PLACES_BYTES_MAX / 64 + 3 };
bool span_places(struct span text, struct span what, uint64_t places[PLACES_WORDS_MAX], bool *any);

/* Is one of these `count` places from `from` on set? From each of them on there is room for `what` in the text. */
static inline bool places_have(const uint64_t places[PLACES_WORDS_MAX], size_t from, size_t count)
{
	for (;; from += 64, count -= 64) {
		uint64_t here = places[from / 64] >> from % 64 | places[from / 64 + 1] << 1
		                                                                       << (63 - from % 64);
		if (count <= 64) return count && here << (64 - count);
		if (here) return true;
	}
}
