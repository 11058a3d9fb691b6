/* A scan as the interface prints it, as JSON text: no process on the way has to parse it again. Its row has the numbers of
 * pass and reader, which are looked up here, as they are now. */
#include "actors/shard/scan/scan.h"

#include "schemas/object_json.h"
#include "schemas/api/scan.h"
#include "store/reader_row.h"

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

static enum err find_pass_id(struct request *request, uint32_t number, const struct scan_known *known,
                             struct span *pass_id)
{
	struct hot_at pass = {.account = request->account->id, .number = number};
	struct body   body = {.pass_id = known->pass_id};
	enum err      err = known->pass_id.size ? OK : pass_body(request, &pass, &body);
	*pass_id = body.pass_id;
	return err;
}

static enum err find_reader(struct request *request, uint32_t number, const struct scan_known *known,
                            struct reader_row *reader)
{
	*reader = known->reader ? *known->reader : (struct reader_row){.named = false};
	if (!number || known->reader) return OK;
	return reader_row_get(request->view, request->account->id, number, reader);
}

struct scan_time {
	wall_us at;
	bool    spaced;
};

static void json_SCAN_TIME(struct buffer *out, struct scan_time time)
{
	if (time.spaced)
		json_SPACED_TIME(out, time.at);
	else
		json_TIME(out, time.at);
}

/* The pass of a scan, and the error of writing it. */
struct nested {
	struct request *request;
	uint32_t        number;
	enum err        err;
};

static void json_Pass(struct buffer *out, struct nested *nested)
{
	struct hot_at   pass;
	struct request *request = nested->request;
	enum err        err = hot_get(request->view, request->account->id, nested->number, &pass);
	if (err == ERR_NOT_FOUND) err = ERR_DAMAGED;
	nested->err = err ? err : pass_json(request, &pass, out);
}

static enum err put_scan(struct request *request, const struct scan_row *scan, unsigned form,
                         const struct scan_known *known, struct buffer *out)
{
	struct span            pass_id;
	struct reader_row      reader;
	struct nested          nested = {request, scan->pass, OK};
	const struct scan_time time = {uuid_time(scan->id), form & SCAN_SPACED};
	size_t                 begin = out->size;
	enum err               err;
	if (scan->verdict >= SCAN_VERDICTS) return ERR_DAMAGED;
	if ((err = find_pass_id(request, scan->pass, known, &pass_id))) return err;
	if ((err = find_reader(request, scan->reader, known, &reader))) return err;
#include "schemas/objects/scan.def"
	json_object_end(out, begin);
	return nested.err;
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
	if (err && err != ERR_NOT_FOUND) return err; /* the reader may have been removed with the scan */
	return scan_show_known(request, &scan, with_pass ? SCAN_WITH_PASS : SCAN_PLAINLY, &known,
	                       outcome->payload);
}
