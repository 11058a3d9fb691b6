#pragma once
#include "schemas/bytes.h"
#include "schemas/span.h"

/* The count of bytes at the beginning of `text` that are neither controls (below the space) nor `a` nor `b`, which
 * are below 0x80. Takes eight at a time, since nearly all text qualifies. A subtraction over eight bytes borrows
 * from the next higher one only behind a hit, so the lowest hit is exact. */
static inline size_t plain_run(struct span text, uint8_t a, uint8_t b)
{
	const uint64_t each = UINT64_C(0x0101010101010101), high = each * 0x80;
	size_t         at = 0;
	for (; text.size - at >= 8; at += 8) {
		uint64_t eight = get_le64(text.at + at), not_a = eight ^ each * a, not_b = eight ^ each * b;
		uint64_t below = (eight - each * ' ') & ~eight;
		uint64_t is_a = (not_a - each) & ~not_a, is_b = (not_b - each) & ~not_b;
		uint64_t hits = (below | is_a | is_b) & high;
		if (hits) return at + (unsigned)__builtin_ctzll(hits) / 8;
	}
	while (at < text.size && text.at[at] >= ' ' && text.at[at] != a && text.at[at] != b)
		at++;
	return at;
}
