/* Bytes of status. They change with a pass's status alone, never with its balance. */
#include "store/status.h"

#include "store/keys.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

_Static_assert(STATUS_PASSES % 64 == 0 && (int)STATUS_PASSES <= (int)ROW_BYTES_MAX,
               "words of bits; two rows a page");
_Static_assert((int)HOT_COUNT_DELETED <= (int)STATUS_DELETED, "a status and the mark fit");

enum err status_row_get(struct view *view, struct account_id account, uint32_t row, const uint8_t **statuses)
{
	struct row_key key = key_u32(account, row);
	struct span    value;
	enum err       err = view_get(view, TABLE_STATUS, key_span(&key), &value);
	if (!err && !status_row_is_whole(value)) err = ERR_DAMAGED;
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	*statuses = value.at;
	return OK;
}

enum err status_put(struct view *view, struct account_id account, uint32_t number, const struct hot *pass,
                    bool is_new)
{
	struct row_key key = key_u32(account, number / STATUS_PASSES);
	unsigned       at = number % STATUS_PASSES;
	uint8_t        byte = (uint8_t)(pass->status | (pass->flags & HOT_DELETED ? STATUS_DELETED : 0));
	uint8_t        row[STATUS_PASSES];
	if (!is_new || at > 0) { /* read first: a patch gives the row a new checksum whatever its content */
		const uint8_t *stored;
		enum err       err = status_row_get(view, account, number / STATUS_PASSES, &stored);
		if (err) return err;
		return write_patch(view_writes(view), TABLE_STATUS, key_span(&key), (uint16_t)at,
		                   span_of(&byte, 1));
	}
	memset(row, STATUS_NOBODY, sizeof row);
	row[0] = byte;
	return view_put(view, TABLE_STATUS, &key, span_of(row, sizeof row));
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
#else
uint64_t status_mask(const uint8_t *statuses, uint16_t wanted)
{
	uint64_t mask = 0;
	for (unsigned i = 0; i < 64; i++)
		mask |= (uint64_t)(statuses[i] < 16 && wanted >> (statuses[i] & 15) & 1) << i;
	return mask;
}
#endif
