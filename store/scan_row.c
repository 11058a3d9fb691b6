/* Columns of 64 scans. A scan is appended by patches of its columns and of the row's head: about 60 bytes of
 * journal, and one page, which the scan before has dirtied already. */
#include "store/scan_row.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum {
	AT_VERDICT = SCAN_COUNTS,
	AT_PASS = AT_VERDICT + SCAN_ROW_SCANS,
	AT_READER = AT_PASS + 4 * SCAN_ROW_SCANS,
	AT_ID = AT_READER + 4 * SCAN_ROW_SCANS,
	ROW_BYTES = AT_ID + 16 * SCAN_ROW_SCANS,
	DELETED = 0x80,

	AT_COUNTS = 4,
	AT_READERS = AT_COUNTS + 4 * (SCAN_COUNT_DELETED + 1),
	TALLY_BYTES = AT_READERS + 8,
};
_Static_assert(ROW_BYTES == 1608, "the row's form is on disk");
_Static_assert((int)ROW_BYTES <= (int)ROW_BYTES_MAX, "two rows fit a page");

/* Counts ------------------------------------------------------------------------------------------------- */

enum err scan_tally_read(struct span value, struct scan_tally *tally)
{
	if (value.size != TALLY_BYTES) return ERR_DAMAGED;
	tally->made = get_le32(value.at);
	for (unsigned i = 0; i <= SCAN_COUNT_DELETED; i++)
		tally->counts[i] = get_le32(value.at + AT_COUNTS + 4 * i);
	tally->readers = get_le32(value.at + AT_READERS);
	tally->readers_named = get_le32(value.at + AT_READERS + 4);
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
	return write_put(view_writes(view), TABLE_SCAN_TALLY, key_span(&key), span_of(bytes, sizeof bytes));
}

uint32_t scan_tally_live(const struct scan_tally *tally)
{
	return tally->made - tally->counts[SCAN_COUNT_DELETED];
}

/* Reading rows ------------------------------------------------------------------------------------------- */

bool scan_rows_are_whole(struct span row)
{
	return row.size == ROW_BYTES && row.at[SCAN_COUNT_USED] <= SCAN_ROW_SCANS;
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

static enum err get_row(struct view *view, struct account_id account, uint32_t number, struct span *row)
{
	struct row_key key = key_u32(account, number / SCAN_ROW_SCANS);
	enum err       err = view_get(view, TABLE_SCAN, key_span(&key), row);
	if (err) return err;
	return scan_rows_are_whole(*row) ? OK : ERR_DAMAGED;
}

enum err scan_row_get(struct view *view, struct account_id account, uint32_t number, struct scan_row *row)
{
	struct span found;
	enum err    err = get_row(view, account, number, &found);
	if (err) return err;
	if (number % SCAN_ROW_SCANS >= found.at[SCAN_COUNT_USED]) return ERR_NOT_FOUND;
	*row = scan_rows_member(found, number % SCAN_ROW_SCANS);
	return row->verdict < SCAN_VERDICTS ? OK : ERR_DAMAGED;
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
	enum err          err = scan_tally_get(view, account, &tally);
	if (err || (err = scan_row_first(view, account, tally.made, uuid_time(id), number))) return err;
	for (; *number < tally.made; ++*number) {
		if ((err = scan_row_get(view, account, *number, row)))
			return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		if (!memcmp(row->id.b, id.b, sizeof id.b)) return OK;
		if (uuid_time(row->id).v != uuid_time(id).v) break;
	}
	return ERR_NOT_FOUND;
}

/* Writing ------------------------------------------------------------------------------------------------ */

static enum err add_first(struct view *view, const struct row_key *key, const struct scan_row *row)
{
	uint8_t bytes[ROW_BYTES] = {[SCAN_COUNT_USED] = 1};
	bytes[row->verdict]++;
	bytes[AT_VERDICT] = row->verdict;
	put_le32(bytes + AT_PASS, row->pass);
	put_le32(bytes + AT_READER, row->reader);
	memcpy(bytes + AT_ID, row->id.b, sizeof row->id);
	return write_put(view_writes(view), TABLE_SCAN, key_span(key), span_of(bytes, sizeof bytes));
}

static enum err patch(struct view *view, const struct row_key *key, size_t offset, struct span bytes)
{
	return write_patch(view_writes(view), TABLE_SCAN, key_span(key), (uint16_t)offset, bytes);
}

static enum err append(struct view *view, const struct row_key *key, const struct scan_row *row, unsigned i)
{
	uint8_t     counts[SCAN_COUNTS], pass[4], reader[4];
	struct span stored;
	enum err    err = view_get(view, TABLE_SCAN, key_span(key), &stored);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (!scan_rows_are_whole(stored) || stored.at[SCAN_COUNT_USED] != i) return ERR_DAMAGED;
	memcpy(counts, stored.at, sizeof counts);
	counts[row->verdict]++;
	counts[SCAN_COUNT_USED]++;
	put_le32(pass, row->pass);
	put_le32(reader, row->reader);
	if ((err = patch(view, key, 0, span_of(counts, sizeof counts)))) return err;
	if (row->verdict && (err = patch(view, key, AT_VERDICT + i, span_of(&row->verdict, 1)))) return err;
	if (row->pass && (err = patch(view, key, AT_PASS + 4 * i, span_of(pass, 4)))) return err;
	if (row->reader && (err = patch(view, key, AT_READER + 4 * i, span_of(reader, 4)))) return err;
	return patch(view, key, AT_ID + sizeof row->id * i, span_of(row->id.b, sizeof row->id));
}

enum err scan_row_add(struct view *view, struct account_id account, struct scan_tally *tally,
                      const struct scan_row *row)
{
	struct row_key key = key_u32(account, tally->made / SCAN_ROW_SCANS);
	unsigned       i = tally->made % SCAN_ROW_SCANS;
	must(row->verdict < SCAN_VERDICTS && !row->deleted);
	enum err err = i ? append(view, &key, row, i) : add_first(view, &key, row);
	if (err) return err;
	tally->made++;
	tally->counts[row->verdict]++;
	return scan_tally_put(view, account, tally);
}

enum err scan_row_delete(struct view *view, struct account_id account, uint32_t number)
{
	struct row_key    key = key_u32(account, number / SCAN_ROW_SCANS);
	unsigned          i = number % SCAN_ROW_SCANS;
	uint8_t           counts[SCAN_COUNTS], none[4] = {0};
	struct scan_tally tally;
	struct span       stored;
	enum err          err = get_row(view, account, number, &stored);
	if (err || (err = scan_tally_get(view, account, &tally))) return err;
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
