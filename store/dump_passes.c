/* Values of accounts, passes and scans. */
#include "store/dump_inside.h"

#include "schemas/bytes.h"
#include "schemas/states.h"
#include "schemas/wallet/kind.h"
#include "store/chunk.h"
#include "store/db.h"
#include "store/image_shape.h"
#include "store/image_use.h"
#include "store/issuing.h"
#include "store/pass_pictures.h"
#include "store/ledger.h"
#include "store/scan_row.h"
#include "store/status.h"
#include "store/tally.h"
#include "store/text.h"

#include <stdio.h>

static const char *verdict_word(unsigned verdict)
{
	static const char *const words[] = {
#define V(name, status, reason) [SCAN_##name] = #name,
#include "schemas/verdicts.def"
#undef V
	};
	return verdict < SCAN_VERDICTS ? words[verdict] : "unknown";
}

static void count_of(struct buffer *out, unsigned status, uint32_t count)
{
	if (status < PASS_STATUSES || count)
		dump_count(out, status == HOT_COUNT_DELETED ? "deleted" : pass_status_text(status), count);
}

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

/* Accounts -------------------------------------------------------------------------------------------------- */

bool dump_tally(struct buffer *out, struct span key, struct span value)
{
	struct tally tally;
	(void)key;
	if (tally_read(value, &tally)) return false;
	dump_count(out, "made", tally.made);
	for (unsigned i = 0; i <= HOT_COUNT_DELETED; i++)
		count_of(out, i, tally.counts[i]);
	dump_count(out, "width", tally.width);
	dump_count(out, "registrations", tally.registrations);
	dump_count(out, "installed_apple", tally.installed[WALLET_APPLE]);
	dump_count(out, "installed_google", tally.installed[WALLET_GOOGLE]);
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
	for (unsigned i = 0; i <= HOT_COUNT_DELETED; i++)
		count_of(out, i, counts[i]);
	dump_begin(out, "passes", '[');
	for (unsigned i = 0; i < counts[HOT_COUNT_USED]; i++) {
		struct hot pass = hot_row_pass(value, i);
		show_hot(out, dump_u32_of(key) * HOT_PASSES + i, &pass);
	}
	buffer_byte(out, ']');
	return true;
}

bool dump_ledger(struct buffer *out, struct span key, struct span value)
{
	struct ledger_row row;
	(void)key;
	if (ledger_row_read(value, &row)) return false;
	dump_count(out, "pass", row.number);
	dump_word(out, "what", ledger_what_text(row.what));
	dump_word(out, "status", pass_status_text(row.status));
	dump_count(out, "flags", row.flags);
	dump_time(out, "at", row.at);
	dump_count(out, "previous", row.previous);
	if (!ledger_moves(row.what)) return true;
	dump_number(out, "delta", row.delta);
	dump_number(out, "balance", row.balance);
	return true;
}

bool dump_text(struct buffer *out, struct span key, struct span value)
{
	(void)key;
	dump_span(out, "text", value);
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

bool dump_issuing(struct buffer *out, struct span key, struct span value)
{
	struct issuing row;
	(void)key;
	if (issuing_read(value, &row)) return false;
	dump_time(out, "begun", row.begun);
	if (row.has_key) dump_hidden(out, "key_hash", sizeof row.key);
	dump_span(out, "logo", row.logo);
	dump_span(out, "banner", row.banner);
	if (row.icon.size) dump_span(out, "icon", row.icon);
	return true;
}

bool dump_pass_pictures(struct buffer *out, struct span key, struct span value)
{
	struct pass_pictures row;
	(void)key;
	if (pass_pictures_read(value, &row)) return false;
	dump_time(out, "begun", row.begun);
	dump_span(out, "logo", row.wanted[0]);
	dump_span(out, "banner", row.wanted[1]);
	dump_span(out, "kept_logo", row.kept[0]);
	dump_span(out, "kept_banner", row.kept[1]);
	dump_count(out, "is_given_up", row.is_given_up);
	return true;
}

bool dump_image_part(struct buffer *out, struct span key, struct span value)
{
	(void)key;
	dump_count(out, "bytes", value.size);
	return true;
}

bool dump_image_use(struct buffer *out, struct span key, struct span value)
{
	static const struct {
		unsigned    role;
		const char *name;
	} roles[] = {{SHAPE_OF_LOGO, "logo"}, {SHAPE_OF_BANNER, "banner"}, {SHAPE_OF_ICON, "icon"}};
	uint32_t count;
	unsigned named;
	(void)key;
	if (image_use_read(value, &count, &named)) return false;
	dump_count(out, "count", count);
	for (unsigned i = 0; i < sizeof roles / sizeof *roles; i++)
		dump_flag(out, roles[i].name, named & roles[i].role);
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

bool dump_shape_due(struct buffer *out, struct span key, struct span value)
{
	struct shape_due due;
	if (shape_due_read(key, value, &due)) return false;
	if (due.is_walk) {
		dump_hex(out, "from_account", span_of(due.at.b, sizeof due.at));
		dump_hex(out, "from_url", span_of(due.hash, sizeof due.hash));
		return true;
	}
	dump_count(out, "wanted", due.wanted);
	dump_count(out, "image_bytes", due.size);
	return true;
}

/* Scans and readers ----------------------------------------------------------------------------------------- */

bool dump_scans(struct buffer *out, struct span key, struct span value)
{
	if (!scan_rows_are_whole(value)) return false;
	unsigned used = scan_rows_counts(value)[SCAN_COUNT_USED];
	dump_begin(out, "scans", '[');
	for (unsigned i = 0; i < used; i++) {
		struct scan_row row = scan_rows_member(value, i);
		dump_item(out);
		buffer_byte(out, '{');
		dump_count(out, "scan", (uint64_t)dump_u32_of(key) * SCAN_ROW_SCANS + i);
		dump_uuid(out, "id", row.id);
		dump_count(out, "pass", row.pass);
		dump_count(out, "reader", row.reader);
		dump_word(out, "verdict", verdict_word(row.verdict));
		dump_flag(out, "deleted", row.deleted);
		buffer_byte(out, '}');
	}
	buffer_byte(out, ']');
	return true;
}

bool dump_scan_tally(struct buffer *out, struct span key, struct span value)
{
	struct scan_tally tally;
	(void)key;
	if (scan_tally_read(value, &tally)) return false;
	dump_count(out, "made", tally.made);
	for (unsigned i = 0; i < SCAN_VERDICTS; i++)
		dump_count(out, verdict_word(i), tally.counts[i]);
	dump_count(out, "deleted", tally.counts[SCAN_COUNT_DELETED]);
	dump_count(out, "readers", tally.readers);
	dump_count(out, "readers_named", tally.readers_named);
	return true;
}

bool dump_reader_id(struct buffer *out, struct span key, struct span value)
{
	(void)key;
	dump_span(out, "id", value);
	return true;
}
