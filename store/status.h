#pragma once
#include "store/hot.h"

/* The statuses of an account's passes once more, and nothing else: a byte a pass, so that a list that asks for no more
 * reads a megabyte for a million passes. Row: STATUS_PASSES bytes, of passes STATUS_PASSES * n on: the status, and
 * STATUS_DELETED for a deleted one; STATUS_NOBODY where there is no pass yet. Written by hot.c beside every change.
 * Errors: as view.h. */
enum { STATUS_PASSES = 1920, STATUS_DELETED = 8, STATUS_NOBODY = 0xff };

/* Stages it for pass `number`, which is new or has changed. */
must_check enum err status_put(struct view *view, struct account_id account, uint32_t number,
                               const struct hot *pass, bool is_new);

static inline bool status_row_is_whole(struct span row)
{
	return row.size == STATUS_PASSES;
}

/* Of 64 bytes of status: a bit for each that is in `wanted`, which has a bit a value. */
uint64_t status_mask(const uint8_t *statuses, uint16_t wanted);

/* A row of them in memory, turned about: the four bits of a status apart, of each a bit a pass. They tell of all passes of
 * an account in a few instructions a word which have a status. */
enum { STATUS_BITS = 4, STATUS_WORDS = STATUS_PASSES / 64 };
struct status_bits {
	uint64_t of[STATUS_BITS][STATUS_WORDS];
};
void status_turn(const uint8_t row[STATUS_PASSES], struct status_bits *bits);

/* A bit for each pass of the row whose status is in `wanted`; nobody's never is. */
void status_find(const struct status_bits *bits, uint16_t wanted, uint64_t found[STATUS_WORDS]);
