/* Recent scans: rows of the ledger that are not in columns yet. Their numbers rise with their rows, and each takes one row at
 * least, so a number says where to look. */
#include "store/scan_row.h"

#include "schemas/bytes.h"
#include "store/keys.h"
#include "store/ledger.h"

enum { AT_VERDICT = 7, AT_TIME = 8, AT_NUMBER = 16, AT_READER = 20, AT_ID = 24 };
_Static_assert(AT_ID + 16 == LEDGER_MOVE_BYTES, "a row of one of the ledger's sizes");

/* Rows of the ledger --------------------------------------------------------------------------------------- */

static bool is_scan(struct span value)
{
	return value.size == LEDGER_MOVE_BYTES && value.at[4] == LEDGER_SCAN;
}

enum err scan_ledger_read(struct span value, uint32_t *number, struct scan_row *row)
{
	if (!is_scan(value) || value.at[AT_VERDICT] >= SCAN_VERDICTS) return ERR_DAMAGED;
	*number = get_le32(value.at + AT_NUMBER);
	*row = (struct scan_row){.pass = get_le32(value.at),
	                         .reader = get_le32(value.at + AT_READER),
	                         .verdict = value.at[AT_VERDICT]};
	memcpy(row->id.b, value.at + AT_ID, sizeof row->id);
	return OK;
}

enum err scan_ledger_put(struct view *view, struct account_id account, const struct account_ends *ends,
                         const struct scan_row *row)
{
	struct row_key key = key_u64(account, ends->ledger + 1);
	uint8_t        bytes[LEDGER_MOVE_BYTES] = {0};
	must(row->verdict < SCAN_VERDICTS && !row->deleted);
	put_le32(bytes, row->pass);
	bytes[4] = LEDGER_SCAN;
	bytes[AT_VERDICT] = row->verdict;
	put_le64(bytes + AT_TIME, (uint64_t)uuid_time(row->id).v);
	put_le32(bytes + AT_NUMBER, ends->scans);
	put_le32(bytes + AT_READER, row->reader);
	memcpy(bytes + AT_ID, row->id.b, sizeof row->id);
	return view_put(view, TABLE_LEDGER, &key, span_of(bytes, sizeof bytes));
}

/* Recent ones --------------------------------------------------------------------------------------------- */

enum err scan_recent_next(struct view *view, struct account_id account, const struct scan_tally *tally,
                          struct recent_scan *at)
{
	uint64_t begin = tally->recent_from;
	/* The row is full. The next ledger row may be too new for the view, so it is not asked for. */
	if (at->seq && at->number % SCAN_ROW_SCANS == SCAN_ROW_SCANS - 1) return ERR_NOT_FOUND;
	at->seq = at->seq ? at->seq + 1 : begin;
	for (; begin && at->seq - begin < SCAN_RECENT_LEDGER; at->seq++) {
		struct row_key key = key_u64(account, at->seq);
		struct span    value;
		enum err       err = view_get(view, TABLE_LEDGER, key_span(&key), &value);
		if (err) return err;
		if (is_scan(value)) return scan_ledger_read(value, &at->number, &at->row);
	}
	return ERR_NOT_FOUND;
}

enum err scan_recent_find(struct view *view, struct account_id account, uint32_t number, struct scan_row *row)
{
	struct scan_tally  tally;
	struct recent_scan at = {0};
	enum err           err = scan_tally_get(view, account, &tally);
	if (err) return err;
	if (!tally.recent_from || number < tally.made || number - tally.made >= SCAN_ROW_SCANS)
		return ERR_NOT_FOUND;
	at.seq = tally.recent_from + (number - tally.made) - 1; /* each takes one row at least */
	while (!(err = scan_recent_next(view, account, &tally, &at)) && at.number < number)
		at.seq += number - at.number - 1;
	*row = at.row;
	return !err && at.number > number ? ERR_DAMAGED : err;
}

enum err scan_tally_whole(struct view *view, struct account_id account, struct scan_tally *tally)
{
	struct recent_scan at = {0};
	enum err           err = scan_tally_get(view, account, tally);
	if (err) return err;
	while (!(err = scan_recent_next(view, account, tally, &at))) {
		if (at.number != tally->made++) return ERR_DAMAGED;
		tally->counts[at.row.verdict]++;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Recent or not ------------------------------------------------------------------------------------------- */

enum err scan_row_get(struct view *view, struct account_id account, uint32_t number, struct scan_row *row)
{
	struct span found;
	enum err    err = scan_rows_stored(view, account, number / SCAN_ROW_SCANS, &found);
	if (err) return err;
	if (number % SCAN_ROW_SCANS >= found.at[SCAN_COUNT_USED])
		return scan_recent_find(view, account, number, row);
	*row = scan_rows_member(found, number % SCAN_ROW_SCANS);
	return row->verdict < SCAN_VERDICTS ? OK : ERR_DAMAGED;
}

enum err scan_rows_get(struct view *view, struct account_id account, uint32_t number, struct span *row)
{
	struct scan_tally  tally;
	struct recent_scan at = {0};
	enum err           err = scan_rows_stored(view, account, number, row);
	if (err || row->at[SCAN_COUNT_USED] == SCAN_ROW_SCANS) return err;
	if ((err = scan_tally_get(view, account, &tally))) return err;
	if (!tally.recent_from || tally.made / SCAN_ROW_SCANS != number)
		return row->at[SCAN_COUNT_USED] ? OK : ERR_NOT_FOUND;
	uint8_t *whole = arena_take(view_arena(view), SCAN_ROW_BYTES);
	if (!whole) return ERR_NO_MEMORY;
	memcpy(whole, row->at, SCAN_ROW_BYTES);
	*row = span_of(whole, SCAN_ROW_BYTES);
	while (!(err = scan_recent_next(view, account, &tally, &at))) {
		bool is_next = at.number == number * SCAN_ROW_SCANS + whole[SCAN_COUNT_USED];
		if (!is_next || whole[SCAN_COUNT_USED] == SCAN_ROW_SCANS) return ERR_DAMAGED;
		scan_rows_append(whole, &at.row);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err scan_row_first(struct view *view, struct account_id account, uint32_t made, wall_us at,
                        uint32_t *number)
{
	uint32_t low = 0, high = made;
	while (low < high) {
		struct scan_row row;
		uint32_t        middle = low + (high - low) / 2;
		enum err        err = scan_row_get(view, account, middle, &row);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		if (uuid_time(row.id).v < at.v)
			low = middle + 1;
		else
			high = middle;
	}
	*number = low;
	return OK;
}

/* Scans of one microsecond may be in any order of their ids. */
enum err scan_row_find(struct view *view, struct account_id account, struct uuid id, uint32_t *number,
                       struct scan_row *row)
{
	struct scan_tally tally;
	enum err          err = scan_tally_whole(view, account, &tally);
	if (err || (err = scan_row_first(view, account, tally.made, uuid_time(id), number))) return err;
	for (; *number < tally.made; ++*number) {
		if ((err = scan_row_get(view, account, *number, row)))
			return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		if (uuid_same(row->id, id)) return OK;
		if (uuid_time(row->id).v != uuid_time(id).v) break;
	}
	return ERR_NOT_FOUND;
}

/* The newest scan is among the last rows of the ledger, mostly the last few. */
static enum err find_newest(struct view *view, struct account_id account, struct account_ends *ends)
{
	struct scan_row scan;
	for (uint64_t seq = ends->ledger; seq >= ends->recent_from; seq--) {
		struct row_key key = key_u64(account, seq);
		struct span    value;
		uint32_t       number;
		enum err       err = view_get(view, TABLE_LEDGER, key_span(&key), &value);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		if (!is_scan(value)) continue;
		err = scan_ledger_read(value, &number, &scan);
		ends->scans = number + 1;
		return err;
	}
	return ERR_DAMAGED;
}

enum err account_ends_get(struct view *view, struct account_id account, struct account_ends *ends)
{
	struct scan_tally tally;
	*ends = (struct account_ends){0};
	enum err err = ledger_last(view, account, &ends->ledger);
	if (err || (err = scan_tally_get(view, account, &tally))) return err;
	ends->recent_from = tally.recent_from;
	ends->scans = tally.made;
	return ends->recent_from ? find_newest(view, account, ends) : OK;
}
