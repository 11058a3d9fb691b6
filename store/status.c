/* Bytes of status. They change with a pass's status alone, never with its balance. */
#include "store/status.h"

#include "store/keys.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

_Static_assert(STATUS_PASSES % 64 == 0 && (int)STATUS_PASSES <= (int)ROW_BYTES_MAX,
               "words of bits; two rows a page");
_Static_assert(STATUS_DELETED == 1 << (STATUS_BITS - 1), "the mark is the highest bit");
_Static_assert((int)HOT_COUNT_DELETED <= (int)STATUS_DELETED, "a status and the mark fit");

enum err status_put(struct view *view, struct account_id account, uint32_t number, const struct hot *pass,
                    bool is_new)
{
	struct row_key key = key_u32(account, number / STATUS_PASSES);
	unsigned       at = number % STATUS_PASSES;
	uint8_t        byte = (uint8_t)(pass->status | (pass->flags & HOT_DELETED ? STATUS_DELETED : 0));
	uint8_t        row[STATUS_PASSES];
	struct span    stored;
	if (!is_new || at > 0) { /* read first: a patch gives the row a new checksum whatever its content */
		enum err err = view_get(view, TABLE_STATUS, key_span(&key), &stored);
		if (err || !status_row_is_whole(stored))
			return err && err != ERR_NOT_FOUND ? err : ERR_DAMAGED;
		return write_patch(view_writes(view), TABLE_STATUS, key_span(&key), (uint16_t)at,
		                   span_of(&byte, 1));
	}
	memset(row, STATUS_NOBODY, sizeof row);
	row[0] = byte;
	return write_put(view_writes(view), TABLE_STATUS, key_span(&key), span_of(row, sizeof row));
}

#if defined(__SSE2__)
/* Compares 16 bytes with one value at a time: few are wanted, or few are not. */
uint64_t status_mask(const uint8_t *statuses, uint16_t wanted)
{
	enum { WORDS = 4 };
	__m128i  bytes[WORDS], found[WORDS];
	uint64_t mask = 0;
	for (unsigned i = 0; i < WORDS; i++) {
		bytes[i] = _mm_loadu_si128((const __m128i *)(const void *)(statuses + 16 * (size_t)i));
		found[i] = _mm_setzero_si128();
	}
	for (unsigned left = wanted; left; left &= left - 1) {
		const __m128i value = _mm_set1_epi8((char)__builtin_ctz(left));
		for (unsigned i = 0; i < WORDS; i++)
			found[i] = _mm_or_si128(found[i], _mm_cmpeq_epi8(bytes[i], value));
	}
	for (unsigned i = 0; i < WORDS; i++)
		mask |= (uint64_t)(unsigned)_mm_movemask_epi8(found[i]) << 16 * i;
	return mask;
}

/* One bit of each of 64 bytes: SSE2 collects the highest bit of a byte. */
static uint64_t bit_of_each(const uint8_t *statuses, unsigned bit)
{
	uint64_t found = 0;
	for (unsigned i = 0; i < 4; i++) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(statuses + 16 * (size_t)i));
		__m128i highest = _mm_sll_epi64(bytes, _mm_cvtsi32_si128(7 - (int)bit));
		found |= (uint64_t)(unsigned)_mm_movemask_epi8(highest) << 16 * i;
	}
	return found;
}
#else
static uint64_t bit_of_each(const uint8_t *statuses, unsigned bit)
{
	uint64_t found = 0;
	for (unsigned i = 0; i < 64; i++)
		found |= (uint64_t)(statuses[i] >> bit & 1) << i;
	return found;
}

uint64_t status_mask(const uint8_t *statuses, uint16_t wanted)
{
	uint64_t mask = 0;
	for (unsigned i = 0; i < 64; i++)
		mask |= (uint64_t)(statuses[i] < 16 && wanted >> (statuses[i] & 15) & 1) << i;
	return mask;
}
#endif

void status_turn(const uint8_t row[STATUS_PASSES], struct status_bits *bits)
{
	for (unsigned bit = 0; bit < STATUS_BITS; bit++)
		for (unsigned word = 0; word < STATUS_WORDS; word++)
			bits->of[bit][word] = bit_of_each(row + (size_t)word * 64, bit);
}

/* Finds by the lowest `count` bits alone; `wanted` has a bit for each of their values. Decides by the highest of
 * these bits, unless it makes no difference, then by the others. */
static void find_by(const struct status_bits *bits, unsigned count, unsigned wanted,
                    uint64_t found[STATUS_WORDS])
{
	unsigned half = count ? 1u << (count - 1) : 0, all = (1u << half) - 1;
	unsigned without = wanted & all, with = wanted >> half;
	uint64_t others[STATUS_WORDS];
	if (count == 0) {
		memset(found, wanted ? 0xff : 0, STATUS_WORDS * sizeof *found);
		return;
	}
	find_by(bits, count - 1, without, found);
	if (with == without) return;
	find_by(bits, count - 1, with, others);
	const uint64_t *bit = bits->of[count - 1];
	for (unsigned word = 0; word < STATUS_WORDS; word++)
		found[word] = (found[word] & ~bit[word]) | (others[word] & bit[word]);
}

void status_find(const struct status_bits *bits, uint16_t wanted, uint64_t found[STATUS_WORDS])
{
	enum { NOBODY = 1 << (STATUS_NOBODY & 15) };
	find_by(bits, STATUS_BITS, wanted & (unsigned)~NOBODY, found);
}
