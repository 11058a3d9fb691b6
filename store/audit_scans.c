/* The scans of one account, recomputed: rows are contiguous and in order of time, their heads and the tally count
 * their scans, and each pass's scan fields are the sum of its scans. Recent scans go on with numbers and times,
 * and are in no count. The ledger's scans are the same as those. Readers: numbers and ids map one to one, scans
 * are counted, and a reader without a name has a scan. */
#include "store/auditor.h"

#include "schemas/bytes.h"
#include "schemas/crc32c.h"
#include "store/reader_row.h"
#include "store/scan_row.h"

#include <inttypes.h>

enum { NUMBER_REST = 4 };

struct reader_seen {
	uint32_t number, scans, recent;
};

struct scans_seen {
	struct scan_tally sum;      /* the expected tally, except `readers` and `recent_from` */
	uint32_t          numbered; /* scans so far, recent ones too */
	struct buffer     readers;  /* struct reader_seen, in order of number */
	uint32_t          reader_count, readers_found, readers_highest;
	wall_us           last;
};

/* Readers: their numbers are checked before the scans, their counts after them ----------------------------------- */

static struct reader_seen *find_reader(const struct scans_seen *seen, uint32_t number)
{
	struct reader_seen *readers = (struct reader_seen *)(void *)seen->readers.at;
	size_t              low = 0, high = seen->reader_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (readers[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < seen->reader_count && readers[low].number == number ? &readers[low] : NULL;
}

static enum err take_number(struct auditor *auditor, const struct audit_rows *rows)
{
	struct scans_seen *seen = rows->context;
	struct reader_seen one = {.number = 0};
	if (rows->rest.size == NUMBER_REST) one.number = get_be32(rows->rest.at);
	if (one.number == 0 || !text_is_plain(rows->value, READER_ID_BYTES_MAX)) {
		audit_fault(auditor, TABLE_READER_NUMBER, "reader %u has an impossible id or number",
		            one.number);
		return OK;
	}
	buffer_append(&seen->readers, &one, sizeof one);
	if (seen->readers.failed) return ERR_NO_MEMORY;
	seen->reader_count++;
	seen->readers_highest = one.number;
	return OK;
}

/* A lookup in the table being iterated would move the cursor, so rows are read one by one. */
static enum err judge_reader(struct auditor *auditor, const struct scans_seen *seen,
                             const struct audit_rows *rows)
{
	struct reader_row row = {.number = 0};
	struct span       id, name;
	if (reader_row_read(rows->value, &row)) {
		audit_fault(auditor, TABLE_READER, "an id with a row of a wrong form");
		return OK;
	}
	const struct reader_seen *reader = find_reader(seen, row.number);
	struct row_key            key = key_u32(auditor->account, row.number);
	enum err                  err = view_get(auditor->reader, TABLE_READER_NUMBER, key_span(&key), &id);
	if (err && !audit_is_fault(err)) return err;
	if (err || !reader || !span_equal(id, rows->rest))
		audit_fault(auditor, TABLE_READER, "an id leads to reader %u, which has another id",
		            row.number);
	else if (row.scans != reader->scans)
		audit_fault(auditor, TABLE_READER, "reader %u: %u scans, there are %u", row.number, row.scans,
		            reader->scans);
	if (row.scans || (reader && reader->recent)) return OK;
	err = view_get(auditor->reader, TABLE_READER_NAME, rows->row.key, &name);
	if (err == ERR_NOT_FOUND)
		audit_fault(auditor, TABLE_READER, "reader %u has neither a scan nor a name", row.number);
	return audit_is_fault(err) ? OK : err;
}

/* Each id leads to its own row. Ids and rows are equal in number, so each row is reached. */
static enum err audit_readers(struct auditor *auditor, struct scans_seen *seen)
{
	struct audit_rows rows = {.table = TABLE_READER};
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		seen->readers_found++;
		if ((err = judge_reader(auditor, seen, &rows))) return err;
	}
	if (seen->readers_found != seen->reader_count)
		audit_fault(auditor, TABLE_READER, "%u ids, but %u readers", seen->readers_found,
		            seen->reader_count);
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err judge_name(struct auditor *auditor, const struct audit_rows *rows)
{
	struct scans_seen *seen = rows->context;
	struct reader_row  row, found;
	struct span        value;
	bool               is_good = !reader_name_read(rows->value, &row) &&
	               text_is_plain(row.name, READER_NAME_BYTES_MAX) && row.named_at.v >= 0;
	seen->sum.readers_named++;
	enum err err = view_get(auditor->reader, TABLE_READER, rows->row.key, &value);
	if (err && !audit_is_fault(err)) return err;
	if (!is_good || err || reader_row_read(value, &found) || found.number != row.number)
		audit_fault(auditor, TABLE_READER_NAME, "a name of a wrong form, or of an unknown reader");
	return OK;
}

/* Scans -------------------------------------------------------------------------------------------------- */

static void judge_scans_reader(struct auditor *auditor, const struct scans_seen *seen,
                               const struct scan_row *scan, uint32_t number, bool is_recent)
{
	if (!scan->reader) return;
	struct reader_seen *reader = scan->deleted ? NULL : find_reader(seen, scan->reader);
	if (reader)
		*(is_recent ? &reader->recent : &reader->scans) += 1;
	else if (scan->deleted)
		audit_fault(auditor, TABLE_SCAN, "scan %u is deleted, and refers to reader %u", number,
		            scan->reader);
	else
		audit_fault(auditor, TABLE_SCAN, "scan %u: reader %u does not exist", number, scan->reader);
}

uint64_t audit_scan_sum(uint32_t number, const struct scan_row *scan)
{
	uint8_t bytes[4 + 4 + 1 + sizeof scan->id];
	put_le32(bytes, number);
	put_le32(bytes + 4, scan->pass);
	bytes[8] = scan->verdict;
	memcpy(bytes + 9, scan->id.b, sizeof scan->id);
	return crc32c(0, bytes, sizeof bytes);
}

/* Deleted ones too: their effects on passes remain. */
static void judge_scan(struct auditor *auditor, struct scans_seen *seen, const struct scan_row *scan,
                       bool is_recent)
{
	uint32_t number = seen->numbered++;
	wall_us  at = uuid_time(scan->id);
	if (auditor->has_ledger_scans && number >= auditor->ledger_scans_from)
		auditor->scan_sum -= audit_scan_sum(number, scan);
	if (scan->verdict >= SCAN_VERDICTS)
		audit_fault(auditor, TABLE_SCAN, "scan %u: unknown verdict %u", number, scan->verdict);
	if (at.v < seen->last.v)
		audit_fault(auditor, TABLE_SCAN, "scan %u was made before the one before it", number);
	seen->last = at;
	judge_scans_reader(auditor, seen, scan, number, is_recent);
	if (scan->pass >= auditor->pass_count) {
		audit_fault(auditor, TABLE_SCAN, "scan %u: pass %u does not exist", number, scan->pass);
		return;
	}
	if (scan->verdict != SCAN_SUCCEEDED) return;
	auditor->passes[scan->pass].scan_count++;
	auditor->passes[scan->pass].last_scan = at;
}

static void judge_row(struct auditor *auditor, struct scans_seen *seen, struct span row)
{
	const uint8_t *counts = scan_rows_counts(row);
	uint8_t        want[SCAN_COUNTS] = {[SCAN_COUNT_USED] = counts[SCAN_COUNT_USED]};
	uint32_t       first = seen->sum.made;
	for (unsigned i = 0; i < counts[SCAN_COUNT_USED]; i++) {
		struct scan_row scan = scan_rows_member(row, i);
		unsigned        count = scan.deleted ? (unsigned)SCAN_COUNT_DELETED : scan.verdict;
		judge_scan(auditor, seen, &scan, false);
		seen->sum.made++;
		if (scan.verdict >= SCAN_VERDICTS) continue;
		want[count]++;
		seen->sum.counts[count]++;
	}
	for (unsigned i = 0; i < SCAN_COUNTS; i++)
		if (counts[i] != want[i])
			audit_fault(auditor, TABLE_SCAN, "scans from %u: count %u is %u, there are %u", first,
			            i, counts[i], want[i]);
	if (!scan_rows_end_blank(row))
		audit_fault(auditor, TABLE_SCAN, "scans from %u: something stands behind the last", first);
}

static enum err judge_scans(struct auditor *auditor, const struct audit_rows *rows)
{
	struct scans_seen *seen = rows->context;
	bool               is_next = rows->rest.size == NUMBER_REST &&
	               (uint64_t)get_be32(rows->rest.at) * SCAN_ROW_SCANS == seen->sum.made;
	if (is_next && scan_rows_are_whole(rows->value) && scan_rows_counts(rows->value)[SCAN_COUNT_USED])
		judge_row(auditor, seen, rows->value);
	else
		audit_fault(auditor, TABLE_SCAN, "the row of scans from %u is missing or wrong",
		            seen->sum.made);
	return OK;
}

/* Each as the next one, in the row of SCAN that they are going to be in. */
static enum err judge_recent(struct auditor *auditor, struct scans_seen *seen)
{
	struct scan_tally  tally;
	struct recent_scan at = {0};
	uint32_t           row = seen->sum.made / SCAN_ROW_SCANS;
	enum err           err = scan_tally_get(auditor->reader, auditor->account, &tally);
	if (err || !tally.recent_from) return err == ERR_DAMAGED ? OK : err; /* reported below */
	while (!(err = scan_recent_next(auditor->reader, auditor->account, &tally, &at))) {
		bool is_at_begin = seen->numbered > seen->sum.made || at.seq == tally.recent_from;
		if (!is_at_begin)
			audit_fault(auditor, TABLE_SCAN_TALLY,
			            "row %" PRIu64 " of the ledger is no recent scan", tally.recent_from);
		if (at.number != seen->numbered || at.number / SCAN_ROW_SCANS != row)
			audit_fault(auditor, TABLE_LEDGER, "row %" PRIu64 ": recent scan %u, not %u", at.seq,
			            at.number, seen->numbered);
		judge_scan(auditor, seen, &at.row, true);
	}
	if (seen->numbered == seen->sum.made)
		audit_fault(auditor, TABLE_SCAN_TALLY, "no recent scan from row %" PRIu64 " of the ledger on",
		            tally.recent_from);
	return err == ERR_NOT_FOUND || audit_is_fault(err) ? OK : err;
}

/* Sums --------------------------------------------------------------------------------------------------- */

static enum err audit_tally(struct auditor *auditor, const struct scans_seen *seen)
{
	struct audit_rows rows = {.table = TABLE_SCAN_TALLY};
	struct scan_tally tally;
	enum err          err;
	while (!(err = audit_row(auditor, &rows)))
		if (rows.rest.size)
			audit_fault(auditor, TABLE_SCAN_TALLY, "a key of %zu bytes", rows.row.key.size);
	if (err != ERR_NOT_FOUND) return err;
	if ((err = scan_tally_get(auditor->reader, auditor->account, &tally))) {
		if (err == ERR_DAMAGED) audit_fault(auditor, TABLE_SCAN_TALLY, "its row cannot be read");
		return err == ERR_DAMAGED ? OK : err;
	}
	if (tally.made != seen->sum.made)
		audit_fault(auditor, TABLE_SCAN_TALLY, "%u scans made, but there are %u", tally.made,
		            seen->sum.made);
	for (unsigned i = 0; i <= SCAN_COUNT_DELETED; i++)
		if (tally.counts[i] != seen->sum.counts[i])
			audit_fault(auditor, TABLE_SCAN_TALLY, "count %u is %u, there are %u", i,
			            tally.counts[i], seen->sum.counts[i]);
	if (tally.readers < seen->readers_highest)
		audit_fault(auditor, TABLE_SCAN_TALLY, "%u readers numbered, but there is number %u",
		            tally.readers, seen->readers_highest);
	if (tally.readers_named != seen->sum.readers_named)
		audit_fault(auditor, TABLE_SCAN_TALLY, "%u readers with a name, but there are %u",
		            tally.readers_named, seen->sum.readers_named);
	return OK;
}

static void compare(struct auditor *auditor, size_t number)
{
	const struct pass_seen *pass = &auditor->passes[number];
	if (pass->hot_scan_count != pass->scan_count)
		audit_fault(auditor, TABLE_HOT, "pass %zu: %u scans, there are %u", number,
		            pass->hot_scan_count, pass->scan_count);
	if (pass->hot_last_scan.v != pass->last_scan.v)
		audit_fault(auditor, TABLE_HOT, "pass %zu: the time of its last scan is wrong", number);
}

static void compare_with_ledger(struct auditor *auditor, const struct scans_seen *seen)
{
	if (auditor->has_ledger_scans && auditor->ledger_scans != seen->numbered)
		audit_fault(auditor, TABLE_LEDGER, "%u scans, but there are %u", auditor->ledger_scans,
		            seen->numbered);
	else if (auditor->scan_sum)
		audit_fault(auditor, TABLE_SCAN, "a scan is not as the ledger has it");
}

static enum err audit_all(struct auditor *auditor, struct scans_seen *seen)
{
	enum err err = audit_each(auditor, TABLE_READER_NUMBER, take_number, seen);
	if (!err) err = audit_each(auditor, TABLE_SCAN, judge_scans, seen);
	if (!err) err = judge_recent(auditor, seen);
	if (!err) compare_with_ledger(auditor, seen);
	if (!err) err = audit_readers(auditor, seen);
	if (!err) err = audit_each(auditor, TABLE_READER_NAME, judge_name, seen);
	return err ? err : audit_tally(auditor, seen);
}

enum err audit_scans(struct auditor *auditor)
{
	struct scans_seen seen = {.last = {INT64_MIN}};
	enum err          err = audit_all(auditor, &seen);
	for (size_t i = 0; !err && i < auditor->pass_count; i++)
		compare(auditor, i);
	auditor->scan_count = seen.numbered;
	buffer_free(&seen.readers);
	return err;
}
