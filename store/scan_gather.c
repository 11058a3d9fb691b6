/* New scans, and the gathering of recent ones into columns. */
#include "store/scan_row.h"

#include "store/keys.h"
#include "store/reader_row.h"

static enum err begin_recent(struct view *view, struct account_id account, struct account_ends *ends)
{
	struct scan_tally tally;
	enum err          err = scan_tally_get(view, account, &tally);
	if (err) return err;
	if (tally.recent_from || tally.made != ends->scans) return ERR_DAMAGED;
	tally.recent_from = ends->recent_from = ends->ledger + 1;
	return scan_tally_put(view, account, &tally);
}

enum err scan_row_add(struct view *view, struct account_id account, struct account_ends *ends,
                      const struct scan_row *row)
{
	bool     is_full = ends->recent_from && ends->scans % SCAN_ROW_SCANS == 0;
	enum err err = is_full ? scan_gather(view, account, ends) : scan_gather_if_due(view, account, ends);
	if (!err && !ends->recent_from) err = begin_recent(view, account, ends);
	if (err || (err = scan_ledger_put(view, account, ends, row))) return err;
	ends->ledger++;
	ends->scans++;
	return OK;
}

/* Gathering ----------------------------------------------------------------------------------------------- */

/* The scans of one reader, from the first that names it on: the number at its place becomes 0. */
static enum err count_reader(struct view *view, struct account_id account, uint32_t readers[], unsigned count)
{
	struct reader_row row;
	uint32_t          number = readers[0], scans = 0;
	for (unsigned i = 0; i < count; i++) {
		if (readers[i] != number) continue;
		readers[i] = 0;
		scans++;
	}
	enum err err = reader_row_get(view, account, number, &row);
	if (err) return err;
	row.scans += scans;
	return reader_row_count(view, account, &row);
}

static enum err count_readers(struct view *view, struct account_id account, uint32_t readers[],
                              unsigned count)
{
	enum err err = OK;
	for (unsigned i = 0; !err && i < count; i++)
		if (readers[i]) err = count_reader(view, account, readers + i, count - i);
	return err;
}

enum err scan_gather(struct view *view, struct account_id account, struct account_ends *ends)
{
	struct scan_tally tally, whole;
	struct span       row;
	uint32_t          readers[SCAN_ROW_SCANS];
	if (!ends->recent_from) return OK;
	enum err err = scan_tally_get(view, account, &tally);
	if (err || (err = scan_tally_whole(view, account, &whole))) return err;
	uint32_t       first = tally.made % SCAN_ROW_SCANS, count = whole.made - tally.made;
	struct row_key key = key_u32(account, tally.made / SCAN_ROW_SCANS);
	if (count == 0 || first + count > SCAN_ROW_SCANS || whole.made != ends->scans) return ERR_DAMAGED;
	if ((err = scan_rows_get(view, account, tally.made / SCAN_ROW_SCANS, &row)))
		return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	for (unsigned i = 0; i < count; i++)
		readers[i] = scan_rows_reader(row, first + i);
	if ((err = view_put(view, TABLE_SCAN, &key, row))) return err;
	if ((err = count_readers(view, account, readers, count))) return err;
	whole.recent_from = ends->recent_from = 0;
	return scan_tally_put(view, account, &whole);
}

enum err scan_gather_if_due(struct view *view, struct account_id account, struct account_ends *ends)
{
	bool is_due = ends->recent_from && ends->ledger + 1 - ends->recent_from >= SCAN_RECENT_LEDGER;
	return is_due ? scan_gather(view, account, ends) : OK;
}
