#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/limits.h"
#include "store/view.h"

/* Readers: what scans passes. Each that a scan or the operator ever named has a number in its account, from 1, so that a
 * scan needs four bytes to say which; only the operator gives one a name. Errors: as view.h.
 *
 * READER finds the number: account | id -> number u32. READER_NUMBER tells the rest: account | number u32 -> version u8
 * (1) | named u8 | size of the id u16 | named_at i64 (0 without a name) | id | name. Both are put, never deleted. */
enum { READER_ROW_BYTES_MAX = 12 + READER_ID_BYTES_MAX + READER_NAME_BYTES_MAX };

struct reader_row {
	uint32_t    number;
	bool        named;
	wall_us     named_at; /* when it first got a name */
	struct span id, name;
};

/* By its id; by its number. Errors: ERR_NOT_FOUND; of the second, ERR_DAMAGED instead: a number that is kept exists. */
must_check enum err reader_row_find(struct view *view, struct account_id account, struct span id,
                                    struct reader_row *row);
must_check enum err reader_row_get(struct view *view, struct account_id account, uint32_t number,
                                   struct reader_row *row);
must_check enum err reader_row_put(struct view *view, struct account_id account,
                                   const struct reader_row *row);

/* The account's next reader in the order of ids, by bytes, after `*row` (its id empty: the first). A range read.
 * Errors: ERR_NOT_FOUND: no more. */
must_check enum err reader_row_next(struct view *view, struct account_id account, struct reader_row *row);

/* A stored value of READER_NUMBER; id and name point into it. Errors: ERR_DAMAGED. */
must_check enum err reader_row_read(struct span value, struct reader_row *row);
