#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* The hot part of passes, which loyalty, scans and lists use: columns of HOT_PASSES passes a row, apart from the cold
 * body. Pass numbers are dense in their account, from 0; the row is number / HOT_PASSES.
 * Row, little-endian: counts u8[8] (0..5 live passes by status, 6 deleted ones, 7 passes in the row) | oldest and
 * newest `updated` i64 | then a column each: status u8, flags u8, template u16, scan_count u32, balance i64, created
 * i64, updated i64, last_scan i64, ledger_head u64. Times are wall_us. Errors: as view.h. */
enum { HOT_PASSES = 40, HOT_COUNTS = 8, HOT_COUNT_DELETED = 6, HOT_COUNT_USED = 7 };

enum hot_flag {
	HOT_DELETED = 1,
	HOT_REINSTALL_BLOCKED = 2,
	HOT_ERASED = 4
}; /* an erased pass is deleted as well */

struct hot {
	uint8_t status; /* enum pass_status */
	uint8_t flags;
	uint16_t template; /* number in the account */
	uint32_t scan_count;
	int64_t  balance;
	wall_us  created, updated;
	wall_us  last_scan;   /* of the last successful one; 0: none */
	uint64_t ledger_head; /* seq of the pass's newest ledger row */
};

/* The index of the count, in a row or tally, that includes the pass. */
static inline unsigned hot_count(const struct hot *pass)
{
	return pass->flags & HOT_DELETED ? (unsigned)HOT_COUNT_DELETED : pass->status;
}

/* A pass that was found: its values, and their row, which hot_put() needs. Borrowed like any value; after a
 * hot_put() get it again before the next. */
struct hot_at {
	struct account_id account;
	uint32_t          number;
	struct span       row;
	struct hot        now;
};

must_check enum err hot_get(struct view *view, struct account_id account, uint32_t number, struct hot_at *at);

/* Stages the change of one pass to `after`: only what differs is written. */
must_check enum err hot_put(struct view *view, const struct hot_at *at, const struct hot *after);

/* Stages a new pass, and counts it for its template; `number` must be the account's next. */
must_check enum err hot_add(struct view *view, struct account_id account, uint32_t number,
                            const struct hot *pass);

/* Decode a whole HOT row: its counts, and the passes in it. */
bool           hot_row_is_whole(struct span row);
const uint8_t *hot_row_counts(struct span row); /* HOT_COUNTS of them */
struct hot     hot_row_pass(struct span row, unsigned index);

/* The columns of a row that lists need, each into an array. */
struct hot_columns {
	int64_t *updated, *balance;
	uint16_t *template;
};
void hot_row_columns(struct span row, const struct hot_columns *columns);
