#pragma once
#include "store/hot.h"

/* A copy of the statuses of an account's passes, one byte a pass, so that a list that needs only these reads 1 MB
 * for a million passes. Row n: STATUS_PASSES bytes, from pass STATUS_PASSES * n on: the status, with STATUS_DELETED
 * added for a deleted pass; STATUS_NOBODY where no pass exists yet. hot.c writes it with every change. Errors: as
 * view.h. */
enum { STATUS_PASSES = 1920, STATUS_DELETED = 8, STATUS_NOBODY = 0xff };

/* Stages the status of pass `number`, which is new or has changed. */
must_check enum err status_put(struct view *view, struct account_id account, uint32_t number,
                               const struct hot *pass, bool is_new);

static inline bool status_row_is_whole(struct span row)
{
	return row.size == STATUS_PASSES;
}

/* For 64 bytes of status: a bit for each whose value is in `wanted`, which has a bit a value. */
uint64_t status_mask(const uint8_t *statuses, uint16_t wanted);

/* A row transposed in memory: four bit planes of the status, in each a bit a pass. Selecting passes by status then
 * takes a few instructions a word. */
enum { STATUS_BITS = 4, STATUS_WORDS = STATUS_PASSES / 64 };
struct status_bits {
	uint64_t of[STATUS_BITS][STATUS_WORDS];
};
void status_turn(const uint8_t row[STATUS_PASSES], struct status_bits *bits);

/* A bit for each pass of the row whose status is in `wanted`; never set where no pass exists. */
void status_find(const struct status_bits *bits, uint16_t wanted, uint64_t found[STATUS_WORDS]);
