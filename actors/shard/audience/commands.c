/* The commands of audiences. */
#include "actors/shard/audience/audience.h"
#include "actors/shard/list/list_out.h"
#include "schemas/object_msgpack.h"
#include "actors/shard/pass/pass.h"
#include "schemas/api/audience.h"
#include "schemas/fold.h"
#include "store/audience.h"
#include "store/keys.h"
#include "store/status.h"

#include <stdlib.h>

/* audience put ACCOUNT: makes an audience of passes, or gives an audience another name and other passes. */
static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* Fails naming the first pass_id that has no pass. */
static enum err blame_missing(struct request *request, struct outcome *outcome, const msgpack_object *ids)
{
	for (uint32_t i = 0; i < ids->via.array.size; i++) {
		struct hot_at pass;
		struct span   pass_id = arg_span(&ids->via.array.ptr[i]);
		enum err      err = pass_find(request, pass_id, false, &pass);
		if (err) return blame_id(outcome, err, "pass_id", CAUSE_PASS_UNKNOWN, pass_id);
	}
	return ERR_DAMAGED; /* HOT and STATUS do not agree */
}

/* Is any of these passes deleted? The numbers rise. A row of STATUS has the statuses of many passes; HOT would take a look-up
 * for each. */
static enum err find_deleted(struct request *request, const uint32_t *numbers, uint32_t count, bool *found)
{
	struct span statuses = span_of(NULL, 0);
	uint32_t    have = UINT32_MAX;
	*found = false;
	for (uint32_t i = 0; i < count && !*found; i++) {
		uint32_t need = numbers[i] / STATUS_PASSES;
		if (need != have) {
			struct row_key key = key_u32(request->account->id, need);
			enum err       err = view_get(request->view, TABLE_STATUS, key_span(&key), &statuses);
			if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
			if (!status_row_is_whole(statuses)) return ERR_DAMAGED;
			have = need;
		}
		*found = statuses.at[numbers[i] % STATUS_PASSES] & STATUS_DELETED;
	}
	return OK;
}

/* Makes members of the passes of these rising numbers. A member of `before` keeps its time, the others get this one. */
static enum err make_members(struct request *request, const struct audience *before, const uint32_t *numbers,
                             struct audience *row)
{
	struct audience_member *old = arena_take(view_arena(request->view),
	                                         (before->count + 1) * sizeof *old);
	struct audience_member *members = arena_take(view_arena(request->view), row->count * sizeof *members);
	if (!old || !members) return ERR_NO_MEMORY;
	audience_members(before, old);
	for (uint32_t i = 0, at = 0; i < row->count; i++) {
		while (at < before->count && old[at].pass < numbers[i])
			at++;
		bool was_member = at < before->count && old[at].pass == numbers[i];
		members[i] = (struct audience_member){numbers[i], was_member ? old[at].since : request->now};
	}
	row->members = members;
	return OK;
}

/* Reads the passes that the request names; their numbers rise, each once. */
static enum err take_passes(struct request *request, struct outcome *outcome, const struct audience *before,
                            struct audience *row)
{
	const msgpack_object *ids = &request->args[ARG_AUDIENCE_PUT_pass_id];
	uint32_t              count = arg_present(ids) ? ids->via.array.size : 0;
	if (count == 0 || count > AUDIENCE_PASSES_MAX)
		return refuse(outcome, REASON(PASS_LIST, "pass_id", .most = AUDIENCE_PASSES_MAX));
	uint32_t *numbers = arena_take(view_arena(request->view), count * sizeof *numbers);
	if (!numbers) return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		enum err err = pass_number(request, arg_span(&ids->via.array.ptr[i]), &numbers[i]);
		if (err == ERR_RESOURCE_NOT_FOUND) return blame_missing(request, outcome, ids);
		if (err) return err;
	}
	qsort(numbers, count, sizeof *numbers, compare);
	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || numbers[i] != numbers[row->count - 1]) numbers[row->count++] = numbers[i];
	bool     is_deleted;
	enum err err = find_deleted(request, numbers, row->count, &is_deleted);
	if (!err && is_deleted) return blame_missing(request, outcome, ids);
	return err ? err : make_members(request, before, numbers, row);
}

/* Reads the audience to replace, if the request names one. */
static enum err take_id(struct request *request, struct audience *before, struct audience *row)
{
	const msgpack_object *id = &request->args[ARG_AUDIENCE_PUT_audience_id];
	row->created = request->now;
	row->id = uuid_draw(request);
	if (!arg_present(id)) return OK;
	enum err err = arg_uuid(id, &row->id);
	if (!err) err = audience_row_get(request->view, request->account->id, row->id, before);
	if (err == ERR_NOT_FOUND) return ERR_RESOURCE_NOT_FOUND;
	if (!err) row->created = before->created;
	return err;
}

enum err on_AUDIENCE_PUT(struct request *request, struct outcome *outcome)
{
	struct audience before = {.count = 0},
	                row = {.name = arg_span(&request->args[ARG_AUDIENCE_PUT_name])};
	msgpack_packer packer = buffer_packer(outcome->payload), *pk = &packer;
	if (row.name.size == 0 || utf8_length(row.name) > AUDIENCE_NAME_CODE_POINTS_MAX)
		return refuse(outcome, REASON(NAME_TEXT, "name", .most = AUDIENCE_NAME_CODE_POINTS_MAX));
	enum err err = take_id(request, &before, &row);
	if (err || (err = take_passes(request, outcome, &before, &row))) return err;
	if ((err = audience_row_put(request->view, request->account->id, &row))) return err;
	size_t map = map_begin(pk);
	MEMBER_ALWAYS(audience_id, UUID, row.id);
	return OK;
}

/* audience list ACCOUNT: the oldest first. */
static void pack_audience(const struct audience *row, msgpack_packer *pk)
{
	size_t map = map_begin(pk);
	MEMBER_ALWAYS(audience_id, UUID, row->id);
	MEMBER_ALWAYS(name, STRING, row->name);
	MEMBER_ALWAYS(pass_count, INTEGER, row->count);
	MEMBER_ALWAYS(created_at, TIME, row->created);
}

enum err on_AUDIENCE_LIST(struct request *request, struct outcome *outcome)
{
	struct list_out list;
	struct audience row = {.count = 0};
	struct buffer   room = {0};
	uint64_t        count = 0;
	enum err        err = OK;
	list_begin(&list, outcome);
	while (!err && !(err = audience_next(request->view, request->account->id, &room, &row))) {
		msgpack_packer pk = buffer_packer(list_item(&list));
		pack_audience(&row, &pk);
		count++;
		err = list_may_go_on(&list, request);
	}
	if (err == ERR_NOT_FOUND) err = list_end(&list, count, false);
	list_drop(&list);
	buffer_free(&room);
	return err;
}

/* audience delete ACCOUNT ID: deletes the row. A notification that is scheduled for the audience fails when it is due, since
 * no other audience ever gets this id. */
enum err on_AUDIENCE_DELETE(struct request *request, struct outcome *outcome)
{
	struct uuid    id;
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = audience_find(request, &request->args[ARG_AUDIENCE_DELETE_audience_id], &id);
	if (err || (err = audience_row_del(request->view, request->account->id, id))) return err;
	msgpack_pack_map(&pk, 0);
	return OK;
}
