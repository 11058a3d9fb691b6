/* The notifications of one account, and its audiences. The columns come first and determine the account's counts and
 * the due rows. The immutable rows and folded texts are compared with them, then the due rows. Rows are looked up
 * only in tables that are not being iterated, since a lookup moves the cursor. */
#include "store/auditor.h"

#include "schemas/fold.h"
#include "store/audience.h"
#include "store/notification.h"
#include "store/text.h"

enum { NUMBER_REST = 4, DUE_REST = 12, ID_BYTES = 16 };

struct seen {
	uint64_t made; /* in the rows of columns, without a gap */
	uint64_t counts[NOTIFICATION_STATUSES];
};

/* Columns ------------------------------------------------------------------------------------------------------ */

static void judge_columns(struct auditor *auditor, uint64_t first, struct span row)
{
	unsigned used = notices_row_used(row), counts[NOTIFICATION_STATUSES] = {0};
	int64_t  earliest = INT64_MAX, latest = INT64_MIN;
	for (unsigned i = 0; i < used; i++) {
		struct notification_state state = notices_row_state(row, i);
		unsigned long long        number = first + i;
		if (state.status > NOTIFICATION_CANCELLED) {
			audit_fault(auditor, TABLE_NOTIFICATION_HOT, "number %llu is in no known state",
			            number);
			continue;
		}
		if (state.status != NOTIFICATION_CANCELLED) counts[state.status]++;
		bool was_sent = state.status == NOTIFICATION_SENT;
		if (was_sent ? state.sent.v <= 0 || state.sent.v < state.scheduled.v : state.sent.v != 0)
			audit_fault(auditor, TABLE_NOTIFICATION_HOT,
			            "number %llu was sent at an impossible time", number);
		if (state.scheduled.v < earliest) earliest = state.scheduled.v;
		if (state.scheduled.v > latest) latest = state.scheduled.v;
	}
	bool same = !used || (earliest == notices_row_earliest(row) && latest == notices_row_latest(row));
	for (unsigned i = 0; i < NOTIFICATION_STATUSES; i++)
		same = same && counts[i] == notices_row_counts(row)[i];
	if (!same)
		audit_fault(auditor, TABLE_NOTIFICATION_HOT, "row %llu: its head is wrong",
		            (unsigned long long)(first / NOTICES));
}

static enum err take_columns(struct auditor *auditor, const struct audit_rows *rows)
{
	struct seen *seen = rows->context;
	bool         is_whole = rows->rest.size == NUMBER_REST && notices_row_is_whole(rows->value);
	if (!is_whole || seen->made != (uint64_t)get_be32(rows->rest.at) * NOTICES) {
		audit_fault(auditor, TABLE_NOTIFICATION_HOT, "a row of a wrong form or place");
		return OK;
	}
	judge_columns(auditor, seen->made, rows->value);
	seen->made += notices_row_used(rows->value);
	for (unsigned i = 0; i < NOTIFICATION_STATUSES; i++)
		seen->counts[i] += notices_row_counts(rows->value)[i];
	return OK;
}

static enum err audit_tally(struct auditor *auditor, const struct seen *seen)
{
	struct audit_rows         rows = {.table = TABLE_NOTIFICATION_TALLY};
	struct notification_tally tally;
	enum err                  err;
	while (!(err = audit_row(auditor, &rows)))
		if (rows.rest.size) audit_fault(auditor, TABLE_NOTIFICATION_TALLY, "a row of a wrong form");
	if (err != ERR_NOT_FOUND) return err;
	err = notification_tally_get(auditor->reader, auditor->account, &tally);
	if (err && !audit_is_fault(err)) return err;
	bool same = !err && tally.made == seen->made;
	for (unsigned i = 0; i < NOTIFICATION_STATUSES; i++)
		same = same && tally.counts[i] == seen->counts[i];
	if (!same) audit_fault(auditor, TABLE_NOTIFICATION_TALLY, "its counts are wrong");
	return OK;
}

/* Immutable rows ------------------------------------------------------------------------------------------------- */

/* Does the searched text match the message? */
static enum err judge_text(struct auditor *auditor, uint32_t number, struct span message)
{
	struct row_key  key = key_u32(auditor->account, number / TEXT_PASSES);
	struct span     value;
	struct text_row texts;
	unsigned        i = number % TEXT_PASSES;
	buffer_clear(&auditor->text);
	fold_text(message, &auditor->text);
	if (auditor->text.failed) return ERR_NO_MEMORY;
	enum err err = view_get(auditor->reader, TABLE_NOTIFICATION_TEXT, key_span(&key), &value);
	if (!err) err = text_row_read(value, &texts);
	if (err && !audit_is_fault(err)) return err;
	struct span text = buffer_span(&auditor->text);
	bool        elsewhere = text.size > TEXT_BYTES_MAX;
	if (err || elsewhere != (texts.elsewhere >> i & 1) || (!elsewhere && !span_equal(texts.of[i], text)))
		audit_fault(auditor, TABLE_NOTIFICATION_TEXT, "number %u: another text than its message's",
		            number);
	arena_reset(view_arena(auditor->reader)); /* a row in parts is joined there for each lookup */
	return OK;
}

/* Rows that the state requires. */
static enum err judge_state(struct auditor *auditor, uint32_t number, struct span message)
{
	struct notification_state state;
	enum err err = notification_state_get(auditor->reader, auditor->account, number, &state);
	if (audit_is_fault(err)) return OK; /* already reported */
	if (!err && state.status == NOTIFICATION_CANCELLED && message.size)
		audit_fault(auditor, TABLE_NOTIFICATION, "number %u is cancelled, and has a message", number);
	if (err || state.status != NOTIFICATION_SCHEDULED) return err;
	struct notification_due due = {auditor->account, state.scheduled, number};
	err = notification_due_get(auditor->reader, &due);
	if (err == ERR_NOT_FOUND)
		audit_fault(auditor, TABLE_NOTIFICATION_DUE, "number %u is scheduled and never due", number);
	return audit_is_fault(err) ? OK : err;
}

static void judge_written(struct auditor *auditor, uint32_t number, const struct notification *row)
{
	bool has_audience = !uuid_same(row->audience, (struct uuid){0});
	if (row->created.v < 0)
		audit_fault(auditor, TABLE_NOTIFICATION, "number %u was created at an impossible time",
		            number);
	if (row->to_audience ? row->pass_number || !has_audience
	                     : has_audience || row->pass_number >= auditor->pass_count)
		audit_fault(auditor, TABLE_NOTIFICATION, "number %u is for nobody", number);
}

static enum err audit_written(struct auditor *auditor, uint64_t made)
{
	struct audit_rows   rows = {.table = TABLE_NOTIFICATION};
	struct audit_whole  found;
	struct notification row;
	uint64_t            next = 0;
	enum err            err;
	while (!(err = audit_whole(auditor, &rows, &found))) {
		if (!found.whole) continue;
		if (found.number != next || notification_read(found.value, &row)) {
			audit_fault(auditor, TABLE_NOTIFICATION, "number %u: missing before, or unreadable",
			            found.number);
			next = (uint64_t)found.number + 1;
			continue;
		}
		next++;
		judge_written(auditor, found.number, &row);
		if (!row.to_audience && row.message.size &&
		    (err = audit_erased(auditor, TABLE_NOTIFICATION, row.pass_number)))
			return err;
		if ((err = judge_text(auditor, found.number, row.message))) return err;
		if ((err = judge_state(auditor, found.number, row.message))) return err;
	}
	if (err == ERR_NOT_FOUND && next != made)
		audit_fault(auditor, TABLE_NOTIFICATION, "%llu of them, but columns of %llu",
		            (unsigned long long)next, (unsigned long long)made);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Due rows and texts --------------------------------------------------------------------------------------------- */

static enum err judge_due(struct auditor *auditor, const struct audit_rows *rows)
{
	struct notification_state state;
	struct notification_due   due;
	if (rows->rest.size != DUE_REST || rows->value.size || notification_due_read(rows->row.key, &due))
		return ERR_MALFORMED;
	enum err err = notification_state_get(auditor->reader, auditor->account, due.number, &state);
	if (err && !audit_is_fault(err)) return err;
	if (err || state.status != NOTIFICATION_SCHEDULED || state.scheduled.v != due.at.v)
		audit_fault(auditor, TABLE_NOTIFICATION_DUE, "number %u is due, and not scheduled so",
		            due.number);
	return OK;
}

static enum err audit_texts(struct auditor *auditor, uint64_t made)
{
	struct audit_rows  rows = {.table = TABLE_NOTIFICATION_TEXT};
	struct audit_whole found;
	uint64_t           want = (made + TEXT_PASSES - 1) / TEXT_PASSES, count = 0;
	enum err           err;
	while (!(err = audit_whole(auditor, &rows, &found)))
		count++;
	if (err == ERR_NOT_FOUND && count != want)
		audit_fault(auditor, TABLE_NOTIFICATION_TEXT, "%llu rows instead of %llu",
		            (unsigned long long)count, (unsigned long long)want);
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err audit_notifications(struct auditor *auditor)
{
	struct seen seen = {.made = 0};
	enum err    err = audit_each(auditor, TABLE_NOTIFICATION_HOT, take_columns, &seen);
	if (!err) err = audit_tally(auditor, &seen);
	if (!err) err = audit_written(auditor, seen.made);
	if (!err) err = audit_each(auditor, TABLE_NOTIFICATION_DUE, judge_due, NULL);
	return err ? err : audit_texts(auditor, seen.made);
}

/* Audiences ---------------------------------------------------------------------------------------------------- */

static enum err audit_members(struct auditor *auditor, const struct audience *row)
{
	enum err err = OK;
	for (uint32_t i = 0; !err && i < row->count; i++) {
		uint32_t pass = audience_pass(row, i);
		wall_us  since = {-1};
		if (pass >= auditor->pass_count || !audience_has(row, pass, &since) || since.v < 0)
			audit_fault(auditor, TABLE_AUDIENCE,
			            "a pass that does not exist, or an impossible time");
		err = audit_erased(auditor, TABLE_AUDIENCE, pass);
	}
	return err;
}

static enum err judge_audience(struct auditor *auditor, const struct audit_whole *found)
{
	struct audience row;
	if (audience_read(found->value, &row)) return ERR_MALFORMED;
	if (row.created.v < 0 || row.name.size == 0)
		audit_fault(auditor, TABLE_AUDIENCE, "an impossible time or name");
	return audit_members(auditor, &row);
}

enum err audit_audiences(struct auditor *auditor)
{
	return audit_each_whole(auditor, TABLE_AUDIENCE, ID_BYTES, judge_audience, NULL);
}
