/* How a scan is shown: as JSON text, so that nobody on the way has to take it apart again. What its row has as numbers,
 * pass and reader, is looked up here, as it is now. */
#include "actors/shard/scan/scan.h"

#include "schemas/date.h"
#include "schemas/api/scan.h"
#include "store/reader_row.h"

#define LITERAL(out, text) buffer_append(out, text, sizeof(text) - 1)

static const struct {
	const char *status, *reason;
} verdicts[SCAN_VERDICTS] = {
#define V(name, status, reason) {status, reason},
#include "schemas/verdicts.def"
#undef V
};

const char *scan_status_text(unsigned verdict)
{
	return verdict < SCAN_VERDICTS ? verdicts[verdict].status : "unknown";
}

static void put_text(struct buffer *out, const char *text)
{
	if (text)
		json_quote(span_str(text), out);
	else
		LITERAL(out, "null");
}

static enum err put_pass_id(struct request *request, uint32_t number, const struct scan_known *known,
                            struct buffer *out)
{
	struct hot_at pass = {.account = request->account->id, .number = number};
	struct body   body = {.pass_id = known->pass_id};
	enum err      err = known->pass_id.size ? OK : pass_body(request, &pass, &body);
	LITERAL(out, ",\"pass_id\":");
	if (!err) json_quote(body.pass_id, out);
	return err;
}

static enum err put_scanner(struct request *request, uint32_t number, const struct scan_known *known,
                            struct buffer *out)
{
	struct reader_row        found = {.named = false};
	const struct reader_row *reader = known->reader ? known->reader : &found;
	enum err                 err = OK;
	if (number && !known->reader)
		err = reader_row_get(request->view, request->account->id, number, &found);
	if (err) return err;
	LITERAL(out, ",\"scanner_id\":");
	if (reader->id.size)
		json_quote(reader->id, out);
	else
		LITERAL(out, "null");
	LITERAL(out, ",\"scanner_name\":");
	if (reader->named)
		json_quote(reader->name, out);
	else
		LITERAL(out, "null");
	return OK;
}

static void put_date(wall_us at, unsigned form, struct buffer *out)
{
	char text[SPACED_DATE_TEXT];
	if (form & SCAN_SPACED)
		spaced_date_text(at, text);
	else
		rfc3339_text(at, text);
	LITERAL(out, ",\"created_at\":");
	put_text(out, text);
}

static enum err put_pass(struct request *request, uint32_t number, struct buffer *out)
{
	struct hot_at pass;
	enum err      err = hot_get(request->view, request->account->id, number, &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	LITERAL(out, ",\"pass\":");
	return pass_json(request, &pass, out);
}

static enum err put_scan(struct request *request, const struct scan_row *scan, unsigned form,
                         const struct scan_known *known, struct buffer *out)
{
	char     id[UUID_TEXT];
	enum err err;
	if (scan->verdict >= SCAN_VERDICTS) return ERR_DAMAGED;
	uuid_text(scan->id, id);
	LITERAL(out, "{\"id\":");
	put_text(out, id);
	if ((err = put_pass_id(request, scan->pass, known, out))) return err;
	LITERAL(out, ",\"status\":");
	put_text(out, verdicts[scan->verdict].status);
	LITERAL(out, ",\"reason\":");
	put_text(out, verdicts[scan->verdict].reason);
	if ((err = put_scanner(request, scan->reader, known, out))) return err;
	put_date(uuid_time(scan->id), form, out);
	if (form & SCAN_WITH_PASS && (err = put_pass(request, scan->pass, out))) return err;
	buffer_byte(out, '}');
	return OK;
}

static const struct scan_known nothing_known = {.reader = NULL};

enum err scan_json(struct request *request, const struct scan_row *scan, unsigned form, struct buffer *out)
{
	return put_scan(request, scan, form, &nothing_known, out);
}

enum err scan_show_known(struct request *request, const struct scan_row *scan, unsigned form,
                         const struct scan_known *known, struct buffer *out)
{
	size_t   begin = bin_begin(out);
	enum err err = put_scan(request, scan, form, known, out);
	bin_end(out, begin);
	return err;
}

enum err scan_show(struct request *request, const struct scan_row *scan, unsigned form, struct buffer *out)
{
	return scan_show_known(request, scan, form, &nothing_known, out);
}

enum err scan_note(struct request *request, const struct scan_row *scan, struct outcome *outcome)
{
	uint8_t *detail = arena_take(view_arena(request->view), RECIPE_SCAN_BYTES);
	if (!detail) return ERR_NO_MEMORY;
	outcome->recipe = (struct recipe){
	    .what = RECIPE_SCAN, .number = scan->pass, .detail = recipe_scan_detail(scan, detail)};
	return OK;
}

enum err scan_again(struct request *request, const struct recipe *recipe, struct outcome *outcome)
{
	struct scan_row   scan;
	struct reader_row reader = {.number = 0};
	struct scan_known known = {.reader = &reader};
	struct span       id = arg_span(&request->args[ARG_SCAN_CREATE_reader_id]);
	bool              with_pass = arg_boolean(&request->args[ARG_SCAN_CREATE_pass_info], false);
	enum err          err = recipe_scan(recipe, &scan);
	if (err) return err;
	if (id.size) err = reader_row_find(request->view, request->account->id, id, &reader);
	if (err && err != ERR_NOT_FOUND) return err; /* it may have gone with the scan */
	return scan_show_known(request, &scan, with_pass ? SCAN_WITH_PASS : SCAN_PLAINLY, &known,
	                       outcome->payload);
}
