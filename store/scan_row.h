#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/verdicts.h"
#include "store/view.h"

/* Scans, failed ones too, numbered densely in the account from 0 in order of creation. Errors: as view.h; in a reader's view
 * also ERR_OVERLOADED, if it is too old for a ledger row in memory (tails.h).
 *
 * A scan is first one row of LEDGER, a late table, so it costs what a change of a balance costs. Such scans are *recent*. They
 * are gathered into a row of SCAN by the scan that is the first of the next row, before a ledger row that would be
 * SCAN_RECENT_LEDGER or more behind that of the first recent scan, and before a scan or a reader's name is deleted. So all recent
 * scans of an account belong to one row of SCAN, and are found among so many ledger rows. Their ledger rows stay as they are.
 *
 * SCAN holds columns of SCAN_ROW_SCANS scans. Row, little-endian: counts u8[8] (0..5 by verdict, 6 deleted ones, which
 * are in no other count, 7 scans in the row) | then a column each: verdict u8 (0x80 set: deleted), pass u32, reader u32
 * (0: none), uuid 16, which contains the time. Rows are put and patched, never deleted. A deleted scan has no reader
 * here; its ledger row keeps the number.
 * SCAN_TALLY counts those in SCAN: made u32 | counts u32[7] as in a row | readers u32 (ever numbered; numbers are 1 to this)
 * | readers with a name u32 | recent_from u64, the ledger row of the first recent scan, 0: there are none. An absent row reads
 * as zeros, and so does a missing recent_from. Likewise READER counts the scans in SCAN.
 * LEDGER, rows of the kind LEDGER_SCAN: pass u32 | what u8 | 0 u16 | verdict u8 | created_at i64 | number u32 | reader u32 | uuid
 * 16. */
enum {
	SCAN_ROW_SCANS = 64,
	SCAN_COUNT_DELETED = 6,
	SCAN_COUNT_USED = 7,
	SCAN_COUNTS = 8,
	SCAN_RECENT_LEDGER = 256,
	SCAN_GATHER_WRITES = 2 + SCAN_ROW_SCANS /* at most: the row, the tally, a reader for each scan */
};
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
	uint64_t recent_from;
};

/* scan_tally_get() reads the row as it is stored. scan_tally_whole() counts the recent scans too, and leaves recent_from.
 * scan_tally_put() stages the row. */
must_check enum err scan_tally_get(struct view *view, struct account_id account, struct scan_tally *tally);
must_check enum err scan_tally_whole(struct view *view, struct account_id account, struct scan_tally *tally);
must_check enum err scan_tally_put(struct view *view, struct account_id account,
                                   const struct scan_tally *tally);

/* Where an account's ledger and scans end: what the writer keeps of it, so that it need not look. */
struct account_ends {
	uint64_t ledger;      /* the newest row; 0: none */
	uint64_t recent_from; /* as in the tally */
	uint32_t scans;       /* ever made; the next one's number */
};
/* Before any staged write. */
must_check enum err account_ends_get(struct view *view, struct account_id account, struct account_ends *ends);

/* One scan, deleted or not. Errors: ERR_NOT_FOUND: no scan of that number. */
must_check enum err scan_row_get(struct view *view, struct account_id account, uint32_t number,
                                 struct scan_row *row);

/* Stages a scan with the number ends->scans, and moves the ends. Gathers first if that is due. */
must_check enum err scan_row_add(struct view *view, struct account_id account, struct account_ends *ends,
                                 const struct scan_row *row);

/* Stages the row of SCAN with all recent scans, their counts, and those of their readers; nothing if there are none. The second
 * does so only if the next ledger row would be too far behind the first recent scan's: call it before each ledger_put(). */
must_check enum err scan_gather(struct view *view, struct account_id account, struct account_ends *ends);
must_check enum err scan_gather_if_due(struct view *view, struct account_id account,
                                       struct account_ends *ends);

/* Stages the deletion of a scan, which must exist and not be recent, and the tally. The caller updates the reader's count. */
must_check enum err scan_row_delete(struct view *view, struct account_id account, uint32_t number);

/* The row of SCAN, by its number: as it is stored, all zeros if it is not; as it would be if the recent scans were in it.
 * Errors: ERR_NOT_FOUND: of the second, it has no scan. The span lives as long
 * as the command. */
must_check enum err scan_rows_stored(struct view *view, struct account_id account, uint32_t number,
                                     struct span *row);
must_check enum err scan_rows_get(struct view *view, struct account_id account, uint32_t number,
                                  struct span *row);

/* The number of the first of `made` scans (as scan_tally_whole() counts) created at `at` or later; `made` if there is none. */
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

/* Decodes a stored tally; a ledger row of a scan. Errors: ERR_DAMAGED. scan_ledger_put() stages a scan as the row
 * ends->ledger + 1 with the number ends->scans, and does not move the ends. */
must_check enum err scan_tally_read(struct span value, struct scan_tally *tally);
must_check enum err scan_ledger_read(struct span value, uint32_t *number, struct scan_row *row);
must_check enum err scan_ledger_put(struct view *view, struct account_id account,
                                    const struct account_ends *ends, const struct scan_row *row);

/* The next recent scan behind the ledger row at->seq; 0: the first one. Errors: ERR_NOT_FOUND: no more. */
struct recent_scan {
	uint64_t        seq; /* its ledger row */
	uint32_t        number;
	struct scan_row row;
};
must_check enum err scan_recent_next(struct view *view, struct account_id account,
                                     const struct scan_tally *tally, struct recent_scan *at);

/* A recent scan by its number. Errors: ERR_NOT_FOUND. */
must_check enum err scan_recent_find(struct view *view, struct account_id account, uint32_t number,
                                     struct scan_row *row);

/* Puts a scan behind those of a row; all zeros is an empty one. The row must have room. */
enum { SCAN_ROW_BYTES = 1608 };
void scan_rows_append(uint8_t row[SCAN_ROW_BYTES], const struct scan_row *scan);
