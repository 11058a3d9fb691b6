#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/limits.h"
#include "store/view.h"

/* Readers: what scans passes. Each has a number in its account, from 1, so that a scan needs four bytes to say which. Only the
 * operator gives one a name. A reader without a name lives as long as a scan refers to it, be it recent (scan_row.h) or not: the
 * commit that deletes the last one removes it, and its number is not given again. So what readers take is bounded by what scans
 * take, whatever ids a till makes up, and lists read the rows of named readers only. Values, little-endian. Errors: as view.h.
 *
 *   READER        account | id -> number u32 | scans u32: how many in SCAN refer to it, deleted ones not counted
 *   READER_NUMBER account | number u32 -> its id
 *   READER_NAME   account | id -> number u32 | named_at i64 | name: of those with a name alone
 *
 * All are put and deleted, never patched. */
enum { READER_VALUE_BYTES = 8, READER_NAME_HEAD_BYTES = 12 };

struct reader_row {
	uint32_t    number, scans;
	bool        named;
	wall_us     named_at; /* when it first got a name */
	struct span id, name;
};

/* By its id; by its number. Errors: ERR_NOT_FOUND; of the second, ERR_DAMAGED instead: a number that is kept exists. */
must_check enum err reader_row_find(struct view *view, struct account_id account, struct span id,
                                    struct reader_row *row);
must_check enum err reader_row_get(struct view *view, struct account_id account, uint32_t number,
                                   struct reader_row *row);

/* Stages all of it; only how many scans refer to it; that it is gone, of one without a name. */
must_check enum err reader_row_put(struct view *view, struct account_id account,
                                   const struct reader_row *row);
must_check enum err reader_row_count(struct view *view, struct account_id account,
                                     const struct reader_row *row);
must_check enum err reader_row_del(struct view *view, struct account_id account,
                                   const struct reader_row *row);

/* Stages that it has no name any more; one that no scan in SCAN refers to is gone with it. Call scan_gather() before reading the
 * row. */
must_check enum err reader_name_del(struct view *view, struct account_id account, struct reader_row *row);

/* The account's next reader with a name in the order of ids, by bytes, after `*row` (its id empty: the first); all but
 * `scans`. A range read. Errors: ERR_NOT_FOUND: no more. */
must_check enum err reader_name_next(struct view *view, struct account_id account, struct reader_row *row);

/* Stored values: of READER number and scans; of READER_NAME all but id and scans, the name pointing into it.
 * Errors: ERR_DAMAGED. */
must_check enum err reader_row_read(struct span value, struct reader_row *row);
must_check enum err reader_name_read(struct span value, struct reader_row *row);
