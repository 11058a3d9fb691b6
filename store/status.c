/* Bytes of status. They change with a pass's state alone, never with its counter. */
#include "store/status.h"

#include "store/keys.h"

_Static_assert(STATUS_PASSES % 64 == 0 && (int)STATUS_PASSES <= (int)ROW_BYTES_MAX,
               "words of bits; two rows a page");
_Static_assert((int)HOT_COUNT_DELETED <= (int)STATUS_DELETED, "a status and the mark fit");

enum err status_put(struct view *view, struct account_id account, uint32_t number, const struct hot *pass,
                    bool is_new)
{
	struct row_key key = key_u32(account, number / STATUS_PASSES);
	unsigned       at = number % STATUS_PASSES;
	uint8_t        byte = (uint8_t)(pass->status | (pass->flags & HOT_DELETED ? STATUS_DELETED : 0));
	uint8_t        row[STATUS_PASSES];
	struct span    stored;
	if (!is_new || at > 0) { /* read first: a patch gives the row a new checksum, whatever it holds */
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

uint64_t status_row_mask(struct span row, unsigned first, uint16_t wanted)
{
	uint64_t mask = 0;
	for (unsigned i = 0; i < 64; i++) {
		uint8_t byte = row.at[first + i];
		mask |= (uint64_t)(byte < 16 && wanted >> (byte & 15) & 1) << i;
	}
	return mask;
}
