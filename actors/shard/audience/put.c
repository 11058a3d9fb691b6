/* audience put ACCOUNT: a new audience of passes, or another name and other passes for one that there is. */
#include "actors/shard/pass/pass.h"
#include "schemas/api/audience.h"
#include "schemas/fold.h"
#include "store/audience.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* The numbers of the passes that are named, rising, each once. */
static enum err take_passes(struct request *request, struct outcome *outcome, struct audience *row)
{
	const msgpack_object *ids = &request->args[ARG_AUDIENCE_PUT_pass_id];
	uint32_t              count = arg_present(ids) ? ids->via.array.size : 0;
	if (count == 0 || count > AUDIENCE_PASSES_MAX)
		return refuse(outcome, REASON(PASS_LIST, "pass_id", .most = AUDIENCE_PASSES_MAX));
	uint32_t *numbers = arena_take(view_arena(request->view), count * sizeof *numbers);
	if (!numbers) return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		struct hot_at pass;
		struct span   pass_id = arg_span(&ids->via.array.ptr[i]);
		enum err      err = pass_find(request, pass_id, false, &pass);
		if (err) return blame_id(outcome, err, "pass_id", CAUSE_PASS_UNKNOWN, pass_id);
		numbers[i] = pass.number;
	}
	qsort(numbers, count, sizeof *numbers, compare);
	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || numbers[i] != numbers[row->count - 1]) numbers[row->count++] = numbers[i];
	row->passes = numbers;
	return OK;
}

/* The one that is to be replaced, if one is. */
static enum err take_id(struct request *request, struct audience *row)
{
	struct audience       before;
	const msgpack_object *id = &request->args[ARG_AUDIENCE_PUT_audience_id];
	enum err              err = ERR_NOT_FOUND;
	row->created = request->now;
	row->id = uuid_draw(request);
	if (!arg_present(id)) return OK;
	if (uuid_read(arg_span(id), &row->id))
		err = audience_row_get(request->view, request->account->id, row->id, &before);
	if (err == ERR_NOT_FOUND) return ERR_RESOURCE_NOT_FOUND;
	if (!err) row->created = before.created;
	return err;
}

enum err on_AUDIENCE_PUT(struct request *request, struct outcome *outcome)
{
	struct audience row = {.name = arg_span(&request->args[ARG_AUDIENCE_PUT_name])};
	char            id[UUID_TEXT];
	msgpack_packer  pk = buffer_packer(outcome->payload);
	if (row.name.size == 0 || utf8_length(row.name) > AUDIENCE_NAME_CODE_POINTS_MAX)
		return refuse(outcome, REASON(NAME_TEXT, "name", .most = AUDIENCE_NAME_CODE_POINTS_MAX));
	enum err err = take_id(request, &row);
	if (err || (err = take_passes(request, outcome, &row))) return err;
	if ((err = audience_row_put(request->view, request->account->id, &row))) return err;
	uuid_text(row.id, id);
	msgpack_pack_map(&pk, 1);
	pack_text(&pk, "audience_id");
	pack_text(&pk, id);
	return OK;
}
