#pragma once
#include "schemas/ids.h"
#include "store/hot_row.h"
#include "store/view.h"

/* The hot part of passes, which loyalty, scans and lists use, apart from the cold body. HOT is a late table: what is newest
 * lies in memory (cells.h), and these functions look there. Errors: as view.h; and of a reader's view, ERR_OVERLOADED: it is
 * so old that what the pass was then is no longer known. */

/* The index of the count, in a row or tally, that includes the pass. */
static inline unsigned hot_count(const struct hot *pass)
{
	return pass->flags & HOT_DELETED ? (unsigned)HOT_COUNT_DELETED : pass->status;
}

/* A pass that was found: its values, and the counts of its row, which hot_put() needs; after a hot_put() get it again before
 * the next. */
struct hot_at {
	struct account_id account;
	uint32_t          number;
	uint8_t           counts[HOT_COUNTS];
	struct hot        now;
};

must_check enum err hot_get(struct view *view, struct account_id account, uint32_t number, struct hot_at *at);

/* Stages the change of one pass to `after`: only what differs is written. */
must_check enum err hot_put(struct view *view, const struct hot_at *at, const struct hot *after);

/* Stages a new pass, and counts it for its template; `number` must be the account's next. */
must_check enum err hot_add(struct view *view, struct account_id account, uint32_t number,
                            const struct hot *pass);

/* For lists: the columns of the passes of a row, from pass row * HOT_PASSES on, of which there are `*used`. Rows that are
 * not in memory are better read as a stream. */
bool                hot_is_in_memory(struct view *view, struct account_id account, uint32_t row);
must_check enum err hot_columns(struct view *view, struct account_id account, uint32_t row,
                                const struct hot_columns *columns, unsigned *used);
