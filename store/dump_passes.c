/* Values of passes and scans in columns, and of tables whose rows have several forms. */
#include "store/dump_inside.h"

#include "schemas/bytes.h"
#include "schemas/states.h"
#include "schemas/wallet/kind.h"
#include "store/chunk.h"
#include "store/db.h"
#include "store/hot.h"
#include "store/image_shape.h"
#include "store/ledger.h"
#include "store/scan_row.h"
#include "store/status.h"
#include "store/text.h"

#include <stdio.h>

bool dump_nothing(struct buffer *out, struct span key, struct span value)
{
	(void)out, (void)key;
	return value.size == 0;
}

bool dump_meta(struct buffer *out, struct span key, struct span value)
{
	struct applied at;
	if (span_is(key, "clock_offset") && value.size == 8) {
		dump_number(out, "us", (int64_t)get_le64(value.at));
	} else if ((span_is(key, "erased") || span_is(key, "segment_begun")) && value.size == 8) {
		dump_time(out, "time", (wall_us){(int64_t)get_le64(value.at)});
	} else if (span_is(key, "issuer_paused") && value.size == 1) {
		dump_flag(out, "paused", value.at[0]);
	} else if (span_is(key, "wallets") && value.size == 1) {
		dump_word(out, "kinds", wallet_setting_text(value.at[0])); /* as the setting: on is both */
	} else if ((span_is(key, "applied") || span_is(key, "late")) && !applied_read(value, &at)) {
		dump_count(out, "seq", at.seq);
		dump_count(out, "epoch", at.epoch);
		dump_time(out, "time", at.now);
		dump_count(out, "segment", at.segment);
		dump_count(out, "record_offset", at.record_offset);
		dump_count(out, "offset", at.offset);
	} else {
		return false;
	}
	return true;
}

/* Passes ---------------------------------------------------------------------------------------------------- */

static void show_hot(struct buffer *out, uint32_t number, const struct hot *pass)
{
	dump_item(out);
	buffer_byte(out, '{');
	dump_count(out, "pass", number);
	dump_word(out, "status", pass_status_text(pass->status));
	dump_flag(out, "deleted", pass->flags & HOT_DELETED);
	dump_flag(out, "reinstall_blocked", pass->flags & HOT_REINSTALL_BLOCKED);
	dump_flag(out, "by_wallet", pass->flags & HOT_BY_WALLET);
	dump_count(out, "template", pass->template);
	dump_count(out, "scan_count", pass->scan_count);
	dump_number(out, "balance", pass->balance);
	dump_time(out, "created", pass->created);
	dump_time(out, "updated", pass->updated);
	dump_time(out, "last_scan", pass->last_scan);
	dump_count(out, "ledger_head", pass->ledger_head);
	buffer_byte(out, '}');
}

bool dump_hot(struct buffer *out, struct span key, struct span value)
{
	if (!hot_row_is_whole(value)) return false;
	const uint8_t *counts = hot_row_counts(value);
	for (unsigned i = 0; i < HOT_COUNT_DELETED; i++)
		dump_count(out, pass_status_text(i), counts[i]);
	if (counts[HOT_COUNT_DELETED]) dump_count(out, "deleted", counts[HOT_COUNT_DELETED]);
	dump_begin(out, "passes", '[');
	for (unsigned i = 0; i < counts[HOT_COUNT_USED]; i++) {
		struct hot pass = hot_row_pass(value, i);
		show_hot(out, dump_u32_of(key) * HOT_PASSES + i, &pass);
	}
	buffer_byte(out, ']');
	return true;
}

/* The texts in this row, by their position. */
bool dump_texts(struct buffer *out, struct span key, struct span value)
{
	struct text_row texts;
	char            place[12];
	(void)key;
	if (text_row_read(value, &texts)) return false;
	for (unsigned i = 0; i < TEXT_PASSES; i++) {
		snprintf(place, sizeof place, "%u", dump_u32_of(key) * TEXT_PASSES + i);
		if (texts.elsewhere >> i & 1)
			dump_word(out, place, "elsewhere");
		else if (texts.of[i].size)
			dump_span(out, place, texts.of[i]);
	}
	return true;
}

bool dump_passes(struct buffer *out, struct span key, struct span value)
{
	(void)key;
	if (!chunk_row_is_whole(value)) return false;
	dump_numbers(out, "passes", value);
	return true;
}

/* One hexadecimal digit a pass, in row order: the status, plus 8 if deleted. */
bool dump_statuses(struct buffer *out, struct span key, struct span value)
{
	static const char digits[] = "0123456789abcdef";
	if (!status_row_is_whole(value)) return false;
	dump_count(out, "first_pass", (uint64_t)dump_u32_of(key) * STATUS_PASSES);
	dump_begin(out, "statuses", '"');
	for (unsigned i = 0; i < STATUS_PASSES && value.at[i] != STATUS_NOBODY; i++)
		buffer_byte(out, value.at[i] < 16 ? (uint8_t)digits[value.at[i]] : '?');
	buffer_byte(out, '"');
	return true;
}

bool dump_image_shape(struct buffer *out, struct span key, struct span value)
{
	struct shape_verdict verdict;
	if (key.size == 0 || key.at[key.size - 1]) return dump_image_part(out, key, value);
	if (shape_verdict_read(value, &verdict)) return false;
	dump_count(out, "made", verdict.made);
	dump_word(out, "fault", verdict.fault ? shape_fault_text(verdict.fault) : "");
	return true;
}

/* Scans and readers ----------------------------------------------------------------------------------------- */

static void put_scan(struct buffer *out, uint32_t number, const struct scan_row *row)
{
	dump_count(out, "scan", number);
	dump_uuid(out, "id", row->id);
	dump_count(out, "pass", row->pass);
	dump_count(out, "reader", row->reader);
	dump_word(out, "verdict", dump_verdict_text(row->verdict));
}

bool dump_ledger(struct buffer *out, struct span key, struct span value)
{
	struct ledger_row event;
	struct scan_row   scan;
	uint32_t          number;
	if (ledger_row_read(value, &event)) return false;
	if (event.what != LEDGER_SCAN) return dump_ledger_event(out, key, value);
	if (scan_ledger_read(value, &number, &scan)) return false;
	dump_word(out, "what", ledger_what_text(event.what));
	put_scan(out, number, &scan);
	return true;
}

bool dump_scans(struct buffer *out, struct span key, struct span value)
{
	if (!scan_rows_are_whole(value)) return false;
	unsigned used = scan_rows_counts(value)[SCAN_COUNT_USED];
	dump_begin(out, "scans", '[');
	for (unsigned i = 0; i < used; i++) {
		struct scan_row row = scan_rows_member(value, i);
		dump_item(out);
		buffer_byte(out, '{');
		put_scan(out, dump_u32_of(key) * SCAN_ROW_SCANS + i, &row);
		dump_flag(out, "deleted", row.deleted);
		buffer_byte(out, '}');
	}
	buffer_byte(out, ']');
	return true;
}
