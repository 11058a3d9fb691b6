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
