#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/verdicts.h"
#include "store/view.h"

/* Scans, failed ones too, numbered densely in the account from 0 in order of creation. Errors: as view.h.
 * SCAN holds columns of SCAN_ROW_SCANS scans. Row, little-endian: counts u8[8] (0..5 by verdict, 6 deleted ones, which
 * are in no other count, 7 scans in the row) | then a column each: verdict u8 (0x80 set: deleted), pass u32, reader u32
 * (0: none), uuid 16, which contains the time. Rows are put and patched, never deleted. A deleted scan has no reader.
 * SCAN_TALLY counts them, exact at every commit: made u32 (ever; the next scan's number) | counts u32[7] as in a row
 * | readers u32 (ever numbered; numbers are 1 to this) | readers with a name u32. An absent row reads as zeros. */
enum { SCAN_ROW_SCANS = 64, SCAN_COUNT_DELETED = 6, SCAN_COUNT_USED = 7, SCAN_COUNTS = 8 };
_Static_assert((int)SCAN_VERDICTS <= (int)SCAN_COUNT_DELETED, "a count for each verdict");

struct scan_row {
	struct uuid id;
	uint32_t    pass, reader; /* numbers in the account; reader 0: none */
	uint8_t     verdict;      /* enum scan_verdict */
	bool        deleted;
};

struct scan_tally {
	uint32_t made;
	uint32_t counts[SCAN_COUNT_DELETED + 1];
	uint32_t readers, readers_named;
};

must_check enum err scan_tally_get(struct view *view, struct account_id account, struct scan_tally *tally);
must_check enum err scan_tally_put(struct view *view, struct account_id account,
                                   const struct scan_tally *tally);
uint32_t            scan_tally_live(const struct scan_tally *tally);

/* One scan, deleted or not. Errors: ERR_NOT_FOUND: no scan of that number. */
must_check enum err scan_row_get(struct view *view, struct account_id account, uint32_t number,
                                 struct scan_row *row);

/* Stages a scan and the tally: its number is tally->made, which is incremented. */
must_check enum err scan_row_add(struct view *view, struct account_id account, struct scan_tally *tally,
                                 const struct scan_row *row);

/* Stages the deletion of a scan, which must exist, and the tally. The caller updates the reader's count. */
must_check enum err scan_row_delete(struct view *view, struct account_id account, uint32_t number);

/* The number of the first of `made` scans created at `at` or later; `made` if there is none. */
must_check enum err scan_row_first(struct view *view, struct account_id account, uint32_t made, wall_us at,
                                   uint32_t *number);

/* The scan of that id, deleted or not. Errors: ERR_NOT_FOUND. */
must_check enum err scan_row_find(struct view *view, struct account_id account, struct uuid id,
                                  uint32_t *number, struct scan_row *row);

/* Decode a whole row: is it well formed, its counts, its members. scan_rows_mask() has a bit for each live member
 * whose verdict is in `verdicts` (a bit each); the row's counts often answer it without reading the members. */
bool            scan_rows_are_whole(struct span row);
const uint8_t  *scan_rows_counts(struct span row);
struct scan_row scan_rows_member(struct span row, unsigned index);
uint32_t        scan_rows_pass(struct span row, unsigned index);
uint32_t        scan_rows_reader(struct span row, unsigned index);
uint64_t        scan_rows_mask(struct span row, unsigned verdicts);
bool scan_rows_end_blank(struct span row); /* zeros behind the last member, as appending requires */

/* Decodes a stored tally. Errors: ERR_DAMAGED. */
must_check enum err scan_tally_read(struct span value, struct scan_tally *tally);
