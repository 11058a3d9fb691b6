/* The scans of one account, recomputed: rows follow each other without a gap and in the order of time, their heads and the
 * tally count what is in them, and what a pass is said to have been through is the sum of its scans. And its readers: the
 * two tables say the same. */
#include "store/auditor.h"

#include "schemas/bytes.h"
#include "store/reader_row.h"
#include "store/scan_row.h"

enum { NUMBER_REST = 4 };

struct scans_seen {
	struct scan_tally sum; /* what the tally must be */
	uint32_t          readers_found, readers_numbered;
	wall_us           last;
};

/* Readers ------------------------------------------------------------------------------------------------ */

static enum err audit_numbers(struct auditor *auditor, struct scans_seen *seen)
{
	struct audit_rows rows = {.table = TABLE_READER_NUMBER};
	struct reader_row row;
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		bool is_next = rows.rest.size == NUMBER_REST &&
		               get_be32(rows.rest.at) == seen->readers_numbered + 1;
		seen->readers_numbered++;
		if (!is_next || reader_row_read(rows.value, &row)) {
			audit_fault(auditor, TABLE_READER_NUMBER, "reader %u is missing or of a wrong form",
			            seen->readers_numbered);
			continue;
		}
		seen->sum.readers_named += row.named;
		if (!text_is_plain(row.id, READER_ID_BYTES_MAX) ||
		    (row.named && !text_is_plain(row.name, READER_NAME_BYTES_MAX)))
			audit_fault(auditor, TABLE_READER_NUMBER, "reader %u has an impossible id or name",
			            seen->readers_numbered);
		if (row.named ? row.named_at.v < 0 : row.named_at.v != 0)
			audit_fault(auditor, TABLE_READER_NUMBER, "reader %u has an impossible time",
			            seen->readers_numbered);
	}
	seen->sum.readers = seen->readers_numbered;
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Each id leads to its own row; as there are as many of the one as of the other, each row is led to. */
static enum err audit_readers(struct auditor *auditor, struct scans_seen *seen)
{
	struct audit_rows rows = {.table = TABLE_READER};
	struct reader_row row;
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		uint32_t number = rows.value.size == NUMBER_REST ? get_le32(rows.value.at) : 0;
		bool     exists = number && number <= seen->readers_numbered;
		seen->readers_found++;
		err = exists ? reader_row_get(auditor->reader, auditor->account, number, &row) : ERR_DAMAGED;
		if (err && err != ERR_DAMAGED) return err;
		if (err || !span_equal(row.id, rows.rest))
			audit_fault(auditor, TABLE_READER, "an id leads to reader %u, which is none of it",
			            number);
	}
	if (seen->readers_found != seen->readers_numbered)
		audit_fault(auditor, TABLE_READER, "%u ids, but %u readers", seen->readers_found,
		            seen->readers_numbered);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Scans -------------------------------------------------------------------------------------------------- */

/* Deleted ones too: what they did to their passes stands. */
static void judge_scan(struct auditor *auditor, struct scans_seen *seen, const struct scan_row *scan)
{
	uint32_t number = seen->sum.made++;
	wall_us  at = uuid_time(scan->id);
	if (scan->verdict >= SCAN_VERDICTS)
		audit_fault(auditor, TABLE_SCAN, "scan %u: unknown verdict %u", number, scan->verdict);
	else
		seen->sum.counts[scan->deleted ? (unsigned)SCAN_COUNT_DELETED : scan->verdict]++;
	if (at.v < seen->last.v)
		audit_fault(auditor, TABLE_SCAN, "scan %u was made before the one before it", number);
	seen->last = at;
	if (scan->reader > seen->readers_numbered)
		audit_fault(auditor, TABLE_SCAN, "scan %u: reader %u does not exist", number, scan->reader);
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
		judge_scan(auditor, seen, &scan);
		if (scan.verdict < SCAN_VERDICTS)
			want[scan.deleted ? (unsigned)SCAN_COUNT_DELETED : scan.verdict]++;
	}
	for (unsigned i = 0; i < SCAN_COUNTS; i++)
		if (counts[i] != want[i])
			audit_fault(auditor, TABLE_SCAN, "scans from %u: count %u is %u, there are %u", first,
			            i, counts[i], want[i]);
	if (!scan_rows_end_blank(row))
		audit_fault(auditor, TABLE_SCAN, "scans from %u: something stands behind the last", first);
}

static enum err audit_rows_of_scans(struct auditor *auditor, struct scans_seen *seen)
{
	struct audit_rows rows = {.table = TABLE_SCAN};
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		bool is_next = rows.rest.size == NUMBER_REST &&
		               (uint64_t)get_be32(rows.rest.at) * SCAN_ROW_SCANS == seen->sum.made;
		if (is_next && scan_rows_are_whole(rows.value) &&
		    scan_rows_counts(rows.value)[SCAN_COUNT_USED])
			judge_row(auditor, seen, rows.value);
		else
			audit_fault(auditor, TABLE_SCAN, "the row of scans from %u is missing or wrong",
			            seen->sum.made);
	}
	return err == ERR_NOT_FOUND ? OK : err;
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
	if (tally.readers != seen->sum.readers || tally.readers_named != seen->sum.readers_named)
		audit_fault(auditor, TABLE_SCAN_TALLY, "%u readers, %u with a name, but there are %u and %u",
		            tally.readers, tally.readers_named, seen->sum.readers, seen->sum.readers_named);
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

enum err audit_scans(struct auditor *auditor)
{
	struct scans_seen seen = {.last = {INT64_MIN}};
	enum err          err;
	if ((err = audit_numbers(auditor, &seen)) || (err = audit_readers(auditor, &seen))) return err;
	if ((err = audit_rows_of_scans(auditor, &seen)) || (err = audit_tally(auditor, &seen))) return err;
	for (size_t i = 0; i < auditor->pass_count; i++)
		compare(auditor, i);
	auditor->scan_count = seen.sum.made;
	auditor->reader_count = seen.readers_numbered;
	return OK;
}
