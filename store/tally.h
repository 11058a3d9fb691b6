#pragma once
#include "schemas/ids.h"
#include "store/hot.h"

/* How many passes an account has: one row, exact at every commit. Little-endian: made u32 (ever; the next
 * pass's number) | live u32[6] by status | deleted u32 | width u32. Errors: as view.h; an absent row reads as zeros. */
struct tally {
	uint32_t made;
	uint32_t counts[HOT_COUNT_DELETED + 1]; /* as in a hot row: by status, then the deleted ones */
	uint32_t width; /* characters of the longest balance ever, except 0: no balance is longer */
};

must_check enum err tally_get(struct view *view, struct account_id account, struct tally *tally);
must_check enum err tally_put(struct view *view, struct account_id account, const struct tally *tally);

/* Stages the move of one pass between counts. */
must_check enum err tally_move(struct view *view, struct account_id account, const struct hot *before,
                               const struct hot *after);

/* The printed width of a balance; and staging of a change that may exceed the width so far. */
uint32_t            balance_width(int64_t balance);
must_check enum err tally_widen(struct view *view, struct account_id account, int64_t before, int64_t after);

uint32_t tally_live(const struct tally *tally);

/* A stored value. Errors: ERR_DAMAGED. */
must_check enum err tally_read(struct span value, struct tally *tally);
