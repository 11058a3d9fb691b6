#pragma once
#include "schemas/ids.h"
#include "store/hot.h"

/* How many passes an account has: one row, exact at every commit. Little-endian: made u32 (ever; the next
 * pass's number) | live u32[6] by status | deleted u32. Errors: as view.h; an absent row reads as zeros. */
struct tally {
	uint32_t made;
	uint32_t counts[HOT_COUNT_DELETED + 1]; /* as in a hot row: by status, then the deleted ones */
};

must_check enum err tally_get(struct view *view, struct account_id account, struct tally *tally);
must_check enum err tally_put(struct view *view, struct account_id account, const struct tally *tally);

/* Stages the move of one pass from one count to the other. */
must_check enum err tally_move(struct view *view, struct account_id account, const struct hot *before,
                               const struct hot *after);

uint32_t tally_live(const struct tally *tally);
