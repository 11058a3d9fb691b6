/* The passes of one account, recomputed.
 * The hot rows come first and determine the number of passes. Bodies, indexes and ledger are then read once each, in
 * their own order, and their values collected beside those of the hot rows. At the end the two must agree. */
#include "store/auditor.h"

#include "schemas/array.h"
#include "schemas/body.h"
#include "schemas/bytes.h"
#include "schemas/fields.h"
#include "schemas/states.h"
#include "store/hot.h"
#include "store/ledger.h"
#include "store/scan_row.h"
#include "store/status.h"
#include "store/tally.h"

#include <inttypes.h>

enum { FLAGS_KNOWN = HOT_DELETED | HOT_REINSTALL_BLOCKED | HOT_ERASED | HOT_BY_WALLET };

/* Hot rows ------------------------------------------------------------------------------------------------ */

static enum err add_pass(struct auditor *auditor, const struct hot *hot)
{
	struct pass_seen *passes = array_grown(auditor->passes, auditor->pass_count, &auditor->pass_room,
	                                       sizeof *passes);
	if (!passes) return ERR_NO_MEMORY;
	auditor->passes = passes;
	auditor->passes[auditor->pass_count++] = (struct pass_seen){
	    .hot_balance = hot->balance,
	    .hot_head = hot->ledger_head,
	    .hot_scan_count = hot->scan_count,
	    .hot_last_scan = hot->last_scan,
	    .hot_status = hot->status,
	    .hot_flags = hot->flags,
	    .template = hot->template,
	};
	return OK;
}

static void judge_pass(struct auditor *auditor, size_t number, const struct hot *hot)
{
	bool deleted = hot->flags & HOT_DELETED;
	if (hot->status >= HOT_COUNT_DELETED)
		audit_fault(auditor, TABLE_HOT, "pass %zu: unknown status %u", number, hot->status);
	else if (deleted && hot->status != PASS_DEACTIVATED)
		audit_fault(auditor, TABLE_HOT, "pass %zu: deleted, but of status %u", number, hot->status);
	if (hot->flags & ~FLAGS_KNOWN)
		audit_fault(auditor, TABLE_HOT, "pass %zu: unknown flags %u", number, hot->flags);
	if (hot->flags & HOT_ERASED && !deleted)
		audit_fault(auditor, TABLE_HOT, "pass %zu: erased, and not deleted", number);
	if (audit_has_template(auditor, hot->template)) {
		auditor->templates[hot->template].has_passes = true;
		auditor->templates[hot->template].passes += !deleted;
		auditor->templates[hot->template].installed += !deleted && hot->status == PASS_ACTIVE;
	} else {
		audit_fault(auditor, TABLE_HOT, "pass %zu: template %u does not exist", number,
		            hot->template);
	}
}

/* The head of a row compared with its members. */
static void judge_row_head(struct auditor *auditor, struct span row, size_t first)
{
	const uint8_t *counts = hot_row_counts(row);
	unsigned       used = counts[HOT_COUNT_USED], want[HOT_COUNTS] = {0};
	for (unsigned i = 0; i < used; i++) {
		struct hot hot = hot_row_pass(row, i);
		if (hot_count(&hot) < HOT_COUNT_USED) want[hot_count(&hot)]++;
	}
	want[HOT_COUNT_USED] = used;
	for (unsigned i = 0; i < HOT_COUNTS; i++)
		if (counts[i] != want[i])
			audit_fault(auditor, TABLE_HOT, "passes from %zu: count %u is %u, there are %u",
			            first, i, counts[i], want[i]);
}

static enum err take_passes(struct auditor *auditor, struct span row)
{
	size_t   first = auditor->pass_count;
	enum err err = OK;
	judge_row_head(auditor, row, first);
	for (unsigned i = 0; !err && i < hot_row_counts(row)[HOT_COUNT_USED]; i++) {
		struct hot hot = hot_row_pass(row, i);
		judge_pass(auditor, first + i, &hot);
		if (first + i && hot.created.v < auditor->last_created.v)
			audit_fault(auditor, TABLE_HOT, "pass %zu was created before the one before it",
			            first + i);
		auditor->last_created = hot.created;
		if (!(hot.flags & HOT_DELETED)) auditor->audit->passes++;
		err = add_pass(auditor, &hot);
	}
	return err;
}

static enum err take_hot_row(struct auditor *auditor, const struct audit_rows *rows)
{
	if (rows->rest.size != 4 || !hot_row_is_whole(rows->value) ||
	    !hot_row_counts(rows->value)[HOT_COUNT_USED]) {
		audit_fault(auditor, TABLE_HOT, "a row of a wrong form, behind pass %zu",
		            auditor->pass_count);
		return OK;
	}
	uint64_t first = (uint64_t)get_be32(rows->rest.at) * HOT_PASSES;
	if (first == auditor->pass_count) return take_passes(auditor, rows->value);
	audit_fault(auditor, TABLE_HOT, "passes from %zu to %" PRIu64 " are missing", auditor->pass_count,
	            first);
	return OK;
}

/* Tally --------------------------------------------------------------------------------------------------- */

static enum err audit_tally(struct auditor *auditor)
{
	struct audit_rows rows = {.table = TABLE_TALLY};
	uint32_t          want[HOT_COUNT_DELETED + 1] = {0};
	struct tally      tally;
	bool              reported = false;
	enum err          err;
	while (!(err = audit_row(auditor, &rows)))
		if (rows.rest.size)
			audit_fault(auditor, TABLE_TALLY, "a key of %zu bytes", rows.row.key.size);
	if (err != ERR_NOT_FOUND) return err;
	if ((err = tally_get(auditor->reader, auditor->account, &tally))) {
		if (err == ERR_DAMAGED) audit_fault(auditor, TABLE_TALLY, "its row cannot be read");
		return err == ERR_DAMAGED ? OK : err;
	}
	for (size_t i = 0; i < auditor->pass_count; i++) {
		const struct pass_seen *pass = &auditor->passes[i];
		unsigned                count = pass->hot_flags & HOT_DELETED ? (unsigned)HOT_COUNT_DELETED
		                                                              : pass->hot_status;
		if (count <= HOT_COUNT_DELETED) want[count]++;
		bool too_wide = pass->hot_balance && balance_width(pass->hot_balance) > tally.width;
		if (too_wide && !reported)
			audit_fault(auditor, TABLE_TALLY, "pass %zu: a counter of more than %u characters", i,
			            tally.width);
		reported |= too_wide;
	}
	if (tally.made != auditor->pass_count)
		audit_fault(auditor, TABLE_TALLY, "%u passes made, but there are %zu", tally.made,
		            auditor->pass_count);
	for (unsigned i = 0; i <= HOT_COUNT_DELETED; i++)
		if (tally.counts[i] != want[i])
			audit_fault(auditor, TABLE_TALLY, "count %u is %u, there are %u", i, tally.counts[i],
			            want[i]);
	return OK;
}

/* Statuses ------------------------------------------------------------------------------------------------ */

static void judge_statuses(struct auditor *auditor, struct span row, size_t first)
{
	for (size_t i = 0; i < STATUS_PASSES; i++) {
		uint8_t want = STATUS_NOBODY;
		if (first + i < auditor->pass_count) {
			const struct pass_seen *pass = &auditor->passes[first + i];
			want = pass->hot_flags & HOT_DELETED ? pass->hot_status | STATUS_DELETED
			                                     : pass->hot_status;
		}
		if (row.at[i] != want)
			audit_fault(auditor, TABLE_STATUS, "pass %zu: %u, its hot row says %u", first + i,
			            row.at[i], want);
	}
}

static enum err audit_statuses(struct auditor *auditor)
{
	struct audit_rows rows = {.table = TABLE_STATUS};
	size_t            first = 0;
	enum err          err;
	while (!(err = audit_row(auditor, &rows))) {
		if (rows.rest.size != 4 || !status_row_is_whole(rows.value) ||
		    (uint64_t)get_be32(rows.rest.at) * STATUS_PASSES != first)
			audit_fault(auditor, TABLE_STATUS, "the row of passes from %zu is missing or wrong",
			            first);
		else
			judge_statuses(auditor, rows.value, first);
		first += STATUS_PASSES;
	}
	size_t rows_wanted = (auditor->pass_count + STATUS_PASSES - 1) / STATUS_PASSES;
	if (err == ERR_NOT_FOUND && first != rows_wanted * STATUS_PASSES)
		audit_fault(auditor, TABLE_STATUS, "%zu rows, there must be %zu", first / STATUS_PASSES,
		            rows_wanted);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Bodies -------------------------------------------------------------------------------------------------- */

static enum err judge_body(struct auditor *auditor, const struct audit_whole *found)
{
	uint32_t number = found->number;
	bool     readable;
	if (number >= auditor->pass_count) {
		audit_fault(auditor, TABLE_BODY, "pass %u does not exist", number);
		return OK;
	}
	enum err err = audit_body(auditor, &auditor->passes[number], found->value, &readable);
	if (!err && !readable) audit_fault(auditor, TABLE_BODY, "pass %u: its body cannot be read", number);
	return err;
}

/* Ledger -------------------------------------------------------------------------------------------------- */

static void judge_event(struct auditor *auditor, uint64_t seq, const struct ledger_row *row)
{
	struct pass_seen *pass = &auditor->passes[row->number];
	if (row->previous != pass->head)
		audit_fault(auditor, TABLE_LEDGER,
		            "row %" PRIu64 ": the one before is %" PRIu64 ", not %" PRIu64, seq, pass->head,
		            row->previous);
	if (pass->head == 0 && row->what != LEDGER_CREATED)
		audit_fault(auditor, TABLE_LEDGER, "row %" PRIu64 ": pass %u begins without its creation",
		            seq, row->number);
	if (row->status >= HOT_COUNT_DELETED || row->flags & ~FLAGS_KNOWN)
		audit_fault(auditor, TABLE_LEDGER, "row %" PRIu64 ": unknown status or flags", seq);
	pass->head = seq;
	pass->status = row->status;
	pass->flags = row->flags;
	if (!ledger_moves(row->what)) return;
	if (__builtin_add_overflow(pass->balance, row->delta, &pass->balance) ||
	    pass->balance != row->balance || pass->balance > BALANCE_MAX || pass->balance < -BALANCE_MAX)
		audit_fault(auditor, TABLE_LEDGER,
		            "row %" PRIu64 ": balance %" PRId64 ", the sum is %" PRId64, seq, row->balance,
		            pass->balance);
}

static bool is_known(enum ledger_what what)
{
	switch (what) {
#define W(id, NAME, text) case LEDGER_##NAME:
#include "store/ledger.def"
#undef W
		return true;
	}
	return false;
}

/* Numbers have no gaps, but the first scans may be older than such rows. */
static void judge_scan(struct auditor *auditor, uint64_t seq, struct span value)
{
	struct scan_row scan;
	uint32_t        number;
	if (scan_ledger_read(value, &number, &scan)) {
		audit_fault(auditor, TABLE_LEDGER, "row %" PRIu64 ": of a wrong form", seq);
		return;
	}
	if (auditor->has_ledger_scans && number != auditor->ledger_scans)
		audit_fault(auditor, TABLE_LEDGER, "row %" PRIu64 ": scan %u, not %u", seq, number,
		            auditor->ledger_scans);
	if (!auditor->has_ledger_scans) auditor->ledger_scans_from = number;
	auditor->has_ledger_scans = true;
	auditor->ledger_scans = number + 1;
	auditor->scan_sum += audit_scan_sum(number, &scan);
}

static void judge_ledger_value(struct auditor *auditor, uint64_t seq, struct span value)
{
	struct ledger_row row;
	unsigned          what = value.size >= LEDGER_EVENT_BYTES ? value.at[4] : 0;
	bool              is_long = ledger_moves(what) || what == LEDGER_SCAN;
	size_t            want = is_long ? LEDGER_MOVE_BYTES : LEDGER_EVENT_BYTES;
	if (!is_known((enum ledger_what)what) || value.size != want || ledger_row_read(value, &row))
		audit_fault(auditor, TABLE_LEDGER, "row %" PRIu64 ": of a wrong form", seq);
	else if (row.number >= auditor->pass_count)
		audit_fault(auditor, TABLE_LEDGER, "row %" PRIu64 ": pass %u does not exist", seq,
		            row.number);
	else if (what == LEDGER_SCAN)
		judge_scan(auditor, seq, value);
	else
		judge_event(auditor, seq, &row);
}

static enum err judge_ledger_row(struct auditor *auditor, const struct audit_rows *rows)
{
	uint64_t *expected = rows->context;
	if (rows->rest.size != 8) {
		audit_fault(auditor, TABLE_LEDGER, "a key of %zu bytes", rows->row.key.size);
		return OK;
	}
	uint64_t seq = get_be64(rows->rest.at);
	if (seq != *expected)
		audit_fault(auditor, TABLE_LEDGER, "rows from %" PRIu64 " to %" PRIu64 " are missing",
		            *expected, seq - 1);
	*expected = seq + 1;
	auditor->audit->ledger_rows++;
	judge_ledger_value(auditor, seq, rows->value);
	return OK;
}

/* All together -------------------------------------------------------------------------------------------- */

static void compare(struct auditor *auditor, size_t number)
{
	const struct pass_seen *pass = &auditor->passes[number];
	if (!pass->has_body) audit_fault(auditor, TABLE_BODY, "pass %zu has none", number);
	if (pass->hot_flags & HOT_ERASED && !pass->is_blank)
		audit_fault(auditor, TABLE_BODY, "pass %zu: erased, and not empty", number);
	if (!pass->has_id) audit_fault(auditor, TABLE_PASS_ID, "pass %zu has none", number);
	if (!pass->has_name) audit_fault(auditor, TABLE_NAME, "pass %zu has none", number);
	if (pass->hot_head != pass->head)
		audit_fault(auditor, TABLE_HOT,
		            "pass %zu: its last event is %" PRIu64 ", the ledger's %" PRIu64, number,
		            pass->hot_head, pass->head);
	if (pass->hot_balance != pass->balance)
		audit_fault(auditor, TABLE_HOT,
		            "pass %zu: its balance is %" PRId64 ", the ledger's sum %" PRId64, number,
		            pass->hot_balance, pass->balance);
	if (pass->head && (pass->hot_status != pass->status || pass->hot_flags != pass->flags))
		audit_fault(auditor, TABLE_HOT, "pass %zu: status %u and flags %u, the ledger's %u and %u",
		            number, pass->hot_status, pass->hot_flags, pass->status, pass->flags);
}

enum err audit_passes(struct auditor *auditor)
{
	uint64_t expected = 1;
	auditor->pass_count = 0;
	auditor->has_ledger_scans = false;
	auditor->scan_sum = 0;
	enum err err = audit_each(auditor, TABLE_HOT, take_hot_row, NULL);
	if (!err) err = audit_tally(auditor);
	if (!err) err = audit_statuses(auditor);
	if (!err) err = audit_each_whole(auditor, TABLE_BODY, 0, judge_body, NULL);
	if (!err) err = audit_index(auditor);
	if (!err) err = audit_each(auditor, TABLE_LEDGER, judge_ledger_row, &expected);
	for (size_t i = 0; !err && i < auditor->pass_count; i++)
		compare(auditor, i);
	return err;
}
