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

/* The bytes of a row, of passes that exist. Errors: ERR_DAMAGED: there is none, or one of another form. */
must_check enum err status_row_get(struct view *view, struct account_id account, uint32_t row,
                                   const uint8_t **statuses);

/* For 64 bytes of status: a bit for each whose value is in `wanted`, which has a bit a value. Never for STATUS_NOBODY. */
uint64_t status_mask(const uint8_t *statuses, uint16_t wanted);
