/* POST /v1/scans: a pass is shown to a reader. The scan is stored with its verdict, also a failed one, in one commit with its
 * effects on the pass. Scans are decided one after the other, so one of two simultaneous readers is the first. */
#include "actors/shard/card/card.h"
#include "actors/shard/reader/reader.h"
#include "actors/shard/rule/rule.h"
#include "actors/shard/scan/scan.h"
#include "schemas/api/scan.h"

#include <ctype.h>

static enum err find_by_card(struct request *request, struct span code, struct hot_at *pass)
{
	uint32_t number;
	enum err err = card_find(request, code, &number);
	if (err || (err = hot_get(request->view, request->account->id, number, pass)))
		return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return pass->now.flags & HOT_DELETED ? ERR_RESOURCE_NOT_FOUND : OK;
}

/* A pass's QR value is its id, where its template has one. */
static enum err find_by_qr(struct request *request, struct span value, struct hot_at *pass,
                           struct span *pass_id)
{
	const struct template *template;
	enum err err = pass_find(request, value, false, pass);
	if (!err && (err = pass_template(request, &pass->now, &template))) return err;
	*pass_id = value;
	if (!err && template->qr) return OK;
	*pass_id = span_of(NULL, 0);
	return err && err != ERR_RESOURCE_NOT_FOUND ? err : find_by_card(request, value, pass);
}

static bool is_blank(uint8_t byte)
{
	return byte <= ' ' || byte == 0x7f;
}

static struct span without_blanks(struct span value)
{
	while (value.size && is_blank(value.at[value.size - 1]))
		value.size--;
	while (value.size && is_blank(value.at[0]))
		value = span_of(value.at + 1, value.size - 1);
	return value;
}

/* Removes the additions of a hand scanner: blanks or a line end behind the code, and in front of it its symbology, "]" and two
 * characters (ISO/IEC 15424). */
static struct span without_scanners_marks(struct span value)
{
	value = without_blanks(value);
	if (value.size >= 3 && value.at[0] == ']' && isalpha(value.at[1]) && isalnum(value.at[2]))
		value = without_blanks(span_of(value.at + 3, value.size - 3));
	return value;
}

/* The checks that need no table. */
static enum err check(const struct request *request, struct outcome *outcome)
{
	const msgpack_object *id = &request->args[ARG_SCAN_CREATE_pass_id],
	                     *qr = &request->args[ARG_SCAN_CREATE_qr_value],
	                     *reader = &request->args[ARG_SCAN_CREATE_reader_id];
	if (arg_present(id) == arg_present(qr))
		return refuse(outcome, arg_present(qr) ? REASON(SCAN_BOTH, "qr_value")
		                                       : REASON(SCAN_NEITHER, "pass_id"));
	if (arg_present(id) && !pass_id_is_valid(arg_span(id)))
		return refuse(outcome, REASON(PASS_ID, "pass_id", .most = PASS_ID_BYTES_MAX));
	if (arg_present(reader) && !text_is_plain(arg_span(reader), READER_ID_BYTES_MAX))
		return refuse(outcome, REASON(PLAIN_TEXT, "reader_id", .most = READER_ID_BYTES_MAX));
	return OK;
}

/* *pass_id has size 0 when the pass was found by a card. */
static enum err find_pass(struct request *request, struct hot_at *pass, struct span *pass_id)
{
	const msgpack_object *id = &request->args[ARG_SCAN_CREATE_pass_id];
	*pass_id = arg_span(id);
	if (arg_present(id)) return pass_find(request, *pass_id, false, pass);
	struct span value = arg_span(&request->args[ARG_SCAN_CREATE_qr_value]);
	enum err    err = find_by_qr(request, value, pass, pass_id);
	struct span bare = without_scanners_marks(value);
	if (err != ERR_RESOURCE_NOT_FOUND || span_equal(bare, value)) return err;
	return find_by_qr(request, bare, pass, pass_id);
}

/* The first reason that applies. Source: document 7, and the decisions on scans. */
static enum scan_verdict plan_verdict(const struct account_row *account, const struct hot *pass, wall_us now)
{
	int64_t window_us = account->double_scan_window_s * US_PER_SEC;
	if (pass->status == PASS_CREATING || pass->status == PASS_CREATION_FAILED)
		return SCAN_PASS_NOT_ISSUED;
	if (pass->status == PASS_DEACTIVATED || pass->flags & HOT_REINSTALL_BLOCKED)
		return SCAN_PASS_SUSPENDED;
	if (pass->last_scan.v && now.v - pass->last_scan.v < window_us) return SCAN_DOUBLE_SCAN;
	return SCAN_SUCCEEDED;
}

/* The reader's id; size 0: the request names none. */
static struct span reader_of(const struct request *request)
{
	return arg_span(&request->args[ARG_SCAN_CREATE_reader_id]);
}

/* *reader is zeroed if the request names none. *number: the scan's. */
static enum err store_scan(struct request *request, struct scan_row *scan, struct reader_row *reader,
                           uint32_t *number)
{
	enum err err = reader_of(request).size ? reader_take(request, reader_of(request), reader) : OK;
	scan->reader = reader->number;
	*number = request->ends.scans;
	return err ? err : scan_row_add(request->view, request->account->id, &request->ends, scan);
}

/* A rejected scan does not change the pass and triggers no rule. */
static enum err plan_success(struct request *request, struct hot_at *after, struct rules_plan *rules)
{
	after->now.last_scan = request->now;
	after->now.scan_count++;
	return rules_plan(request, EVENT_SCAN_CREATED, after, reader_of(request), rules);
}

enum err on_SCAN_CREATE(struct request *request, struct outcome *outcome)
{
	struct hot_at     pass;
	struct rules_plan rules = {.event = EVENT_SCAN_CREATED};
	struct reader_row reader = {.number = 0};
	struct scan_known known = {.reader = &reader};
	bool              with_pass = arg_boolean(&request->args[ARG_SCAN_CREATE_pass_info], false);
	enum err          err = check(request, outcome);
	if (err) return err;
	err = find_pass(request, &pass, &known.pass_id);
	if (err == ERR_RESOURCE_NOT_FOUND && !arg_present(&request->args[ARG_SCAN_CREATE_pass_id]))
		return refuse(outcome, REASON_OF_ALL(SCAN_NOBODY));
	if (err) return err;
	struct hot_at   after = pass;
	struct scan_row scan = {
	    .id = uuid_draw(request),
	    .pass = pass.number,
	    .verdict = (uint8_t)plan_verdict(&request->account->row, &pass.now, request->now)};
	if (scan.verdict == SCAN_SUCCEEDED && (err = plan_success(request, &after, &rules))) return err;
	uint32_t number;
	err = store_scan(request, &scan, &reader, &number);
	if (!err && scan.verdict == SCAN_SUCCEEDED) err = hot_put(request->view, &pass, &after.now);
	if (err || (err = event_occurred(request, &rules, number))) return err;
	if ((err = scan_note(request, &scan, outcome))) return err;
	return scan_show_known(request, &scan, with_pass ? SCAN_WITH_PASS : SCAN_PLAINLY, &known,
	                       outcome->payload);
}
