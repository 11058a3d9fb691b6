/* Columns of 64 scans, and their counts. */
#include "store/scan_row.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum {
	AT_VERDICT = SCAN_COUNTS,
	AT_PASS = AT_VERDICT + SCAN_ROW_SCANS,
	AT_READER = AT_PASS + 4 * SCAN_ROW_SCANS,
	AT_ID = AT_READER + 4 * SCAN_ROW_SCANS,
	DELETED = 0x80,

	AT_COUNTS = 4,
	AT_READERS = AT_COUNTS + 4 * (SCAN_COUNT_DELETED + 1),
	AT_RECENT = AT_READERS + 8, /* also the size of a tally that older programs wrote */
	TALLY_BYTES = AT_RECENT + 8,
};
_Static_assert(AT_ID + 16 * SCAN_ROW_SCANS == SCAN_ROW_BYTES, "the row's form is on disk");
_Static_assert((int)SCAN_ROW_BYTES <= (int)ROW_BYTES_MAX, "two rows fit a page");

/* Counts ------------------------------------------------------------------------------------------------- */

enum err scan_tally_read(struct span value, struct scan_tally *tally)
{
	if (value.size != TALLY_BYTES && value.size != AT_RECENT) return ERR_DAMAGED;
	tally->made = get_le32(value.at);
	for (unsigned i = 0; i <= SCAN_COUNT_DELETED; i++)
		tally->counts[i] = get_le32(value.at + AT_COUNTS + 4 * i);
	tally->readers = get_le32(value.at + AT_READERS);
	tally->readers_named = get_le32(value.at + AT_READERS + 4);
	tally->recent_from = value.size == TALLY_BYTES ? get_le64(value.at + AT_RECENT) : 0;
	return OK;
}

enum err scan_tally_get(struct view *view, struct account_id account, struct scan_tally *tally)
{
	struct row_key key = key_account(account);
	struct span    value;
	enum err       err = view_get(view, TABLE_SCAN_TALLY, key_span(&key), &value);
	*tally = (struct scan_tally){0};
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return scan_tally_read(value, tally);
}

enum err scan_tally_put(struct view *view, struct account_id account, const struct scan_tally *tally)
{
	struct row_key key = key_account(account);
	uint8_t        bytes[TALLY_BYTES];
	put_le32(bytes, tally->made);
	for (unsigned i = 0; i <= SCAN_COUNT_DELETED; i++)
		put_le32(bytes + AT_COUNTS + 4 * i, tally->counts[i]);
	put_le32(bytes + AT_READERS, tally->readers);
	put_le32(bytes + AT_READERS + 4, tally->readers_named);
	put_le64(bytes + AT_RECENT, tally->recent_from);
	return view_put(view, TABLE_SCAN_TALLY, &key, span_of(bytes, sizeof bytes));
}

/* Reading rows ------------------------------------------------------------------------------------------- */

bool scan_rows_are_whole(struct span row)
{
	return row.size == SCAN_ROW_BYTES && row.at[SCAN_COUNT_USED] <= SCAN_ROW_SCANS;
}

const uint8_t *scan_rows_counts(struct span row)
{
	return row.at;
}

struct scan_row scan_rows_member(struct span row, unsigned i)
{
	struct scan_row member = {.pass = scan_rows_pass(row, i),
	                          .reader = scan_rows_reader(row, i),
	                          .verdict = row.at[AT_VERDICT + i] & (DELETED - 1),
	                          .deleted = row.at[AT_VERDICT + i] & DELETED};
	memcpy(member.id.b, row.at + AT_ID + sizeof member.id * i, sizeof member.id);
	return member;
}

uint32_t scan_rows_pass(struct span row, unsigned i)
{
	return get_le32(row.at + AT_PASS + 4 * i);
}

uint32_t scan_rows_reader(struct span row, unsigned i)
{
	return get_le32(row.at + AT_READER + 4 * i);
}

uint64_t scan_rows_mask(struct span row, unsigned verdicts)
{
	unsigned used = row.at[SCAN_COUNT_USED], count = 0;
	uint64_t all = used ? UINT64_MAX >> (SCAN_ROW_SCANS - used) : 0, mask = 0;
	for (unsigned i = 0; i < SCAN_VERDICTS; i++)
		if (verdicts >> i & 1) count += row.at[i];
	if (count == 0 || count == used) return count ? all : 0;
	for (unsigned i = 0; i < used; i++) {
		uint8_t verdict = row.at[AT_VERDICT + i];
		mask |= (uint64_t)(!(verdict & DELETED) && verdicts >> (verdict & 31) & 1) << i;
	}
	return mask;
}

static bool is_blank(const uint8_t *at, size_t size)
{
	while (size && !at[size - 1])
		size--;
	return size == 0;
}

bool scan_rows_end_blank(struct span row)
{
	size_t used = row.at[SCAN_COUNT_USED], left = SCAN_ROW_SCANS - used;
	return is_blank(row.at + AT_VERDICT + used, left) &&
	       is_blank(row.at + AT_PASS + 4 * used, 4 * left) &&
	       is_blank(row.at + AT_READER + 4 * used, 4 * left) &&
	       is_blank(row.at + AT_ID + sizeof(struct uuid) * used, sizeof(struct uuid) * left);
}

enum err scan_rows_stored(struct view *view, struct account_id account, uint32_t number, struct span *row)
{
	static const uint8_t none[SCAN_ROW_BYTES];
	struct row_key       key = key_u32(account, number);
	enum err             err = view_get(view, TABLE_SCAN, key_span(&key), row);
	if (err == ERR_NOT_FOUND) *row = span_of(none, sizeof none);
	if (err && err != ERR_NOT_FOUND) return err;
	return scan_rows_are_whole(*row) ? OK : ERR_DAMAGED;
}

/* Writing ------------------------------------------------------------------------------------------------ */

void scan_rows_append(uint8_t row[SCAN_ROW_BYTES], const struct scan_row *scan)
{
	unsigned i = row[SCAN_COUNT_USED]++;
	must(i < SCAN_ROW_SCANS && scan->verdict < SCAN_VERDICTS && !scan->deleted);
	row[scan->verdict]++;
	row[AT_VERDICT + i] = scan->verdict;
	put_le32(row + AT_PASS + 4 * i, scan->pass);
	put_le32(row + AT_READER + 4 * i, scan->reader);
	memcpy(row + AT_ID + sizeof scan->id * i, scan->id.b, sizeof scan->id);
}

static enum err patch(struct view *view, const struct row_key *key, size_t offset, struct span bytes)
{
	return write_patch(view_writes(view), TABLE_SCAN, key_span(key), (uint16_t)offset, bytes);
}

enum err scan_row_delete(struct view *view, struct account_id account, uint32_t number)
{
	struct row_key    key = key_u32(account, number / SCAN_ROW_SCANS);
	unsigned          i = number % SCAN_ROW_SCANS;
	uint8_t           counts[SCAN_COUNTS], none[4] = {0};
	struct scan_tally tally;
	struct span       stored;
	enum err          err = scan_rows_stored(view, account, number / SCAN_ROW_SCANS, &stored);
	if (err || (err = scan_tally_get(view, account, &tally))) return err;
	if (i >= stored.at[SCAN_COUNT_USED]) return ERR_DAMAGED;
	struct scan_row row = scan_rows_member(stored, i);
	memcpy(counts, stored.at, sizeof counts);
	if (row.verdict >= SCAN_VERDICTS || row.deleted || !counts[row.verdict] || !tally.counts[row.verdict])
		return ERR_DAMAGED;
	uint8_t verdict = row.verdict | DELETED;
	counts[row.verdict]--;
	counts[SCAN_COUNT_DELETED]++;
	tally.counts[row.verdict]--;
	tally.counts[SCAN_COUNT_DELETED]++;
	if ((err = patch(view, &key, 0, span_of(counts, sizeof counts)))) return err;
	if ((err = patch(view, &key, AT_VERDICT + i, span_of(&verdict, 1)))) return err;
	if (row.reader && (err = patch(view, &key, AT_READER + 4 * i, span_of(none, sizeof none))))
		return err;
	return scan_tally_put(view, account, &tally);
}
