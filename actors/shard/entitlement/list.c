/* GET /v1/passes/{id}/rewards: the redeemable entitlements of a pass, in the order of assignment; with include_history all of
 * them. Redeemable ones are found by the rows of OPEN, so that a long history costs nothing. */
#include "actors/shard/entitlement/entitlement.h"

#include "actors/shard/list/list_out.h"
#include "actors/shard/pass/pass.h"
#include "schemas/api/entitlement.h"

#include <stdlib.h>

struct listing {
	struct request *request;
	struct span     pass_id;
	struct list_out list;
	uint64_t        count;

	struct reward_version terms; /* of the entitlement before: mostly also those of the next */
	struct buffer         room;  /* holds them: the view's own memory would keep them all */
};

static enum err look_up(struct listing *listing, const struct entitlement *row)
{
	struct request *request = listing->request;
	struct reward   reward = {.family = row->family, .version = row->version};
	if (listing->terms.family == row->family && listing->terms.version == row->version) return OK;
	return reward_version_in(request->view, request->account->id, &reward, &listing->room,
	                         &listing->terms);
}

enum { ROWS_A_LOOK = 256 }; /* between looks at the clock: a pass may have any number */

static enum err list_one(struct listing *listing, const struct entitlement *row)
{
	enum err err = look_up(listing, row);
	if (!err && listing->count % ROWS_A_LOOK == 0) err = list_may_go_on(&listing->list, listing->request);
	if (err) return err;
	msgpack_packer pk = buffer_packer(list_item(&listing->list));
	listing->count++;
	entitlement_pack(row, &listing->terms, listing->pass_id, listing->request->now, &pk);
	return OK;
}

static enum err list_all(struct listing *listing, uint32_t pass)
{
	struct request    *request = listing->request;
	struct entitlement row = {.pass = pass};
	enum err           err;
	while (!(err = entitlement_next(request->view, request->account->id, &row)))
		if ((err = list_one(listing, &row))) return err;
	return err == ERR_NOT_FOUND ? OK : err;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct uuid));
}

/* The rows of OPEN are in the order of families; sorting the ids gives the order of assignment. */
static enum err collect(const struct listing *listing, uint32_t pass, struct buffer *ids)
{
	const struct request   *request = listing->request;
	struct entitlement_open row = {.pass = pass};
	enum err                err = OK;
	for (unsigned i = 0; !err; i++) {
		if (i % ROWS_A_LOOK == 0) err = list_may_go_on(&listing->list, request);
		if (!err)
			err = entitlement_open_next(request->view, request->account->id, request->now, &row);
		if (!err) buffer_append(ids, row.id.b, sizeof row.id.b);
	}
	if (ids->failed) return ERR_NO_MEMORY;
	if (ids->size) qsort(ids->at, ids->size / sizeof row.id, sizeof row.id, compare);
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err list_redeemable(struct listing *listing, uint32_t pass)
{
	struct request *request = listing->request;
	struct buffer   ids = {0};
	enum err        err = collect(listing, pass, &ids);
	for (size_t at = 0; !err && at < ids.size; at += sizeof(struct uuid)) {
		struct entitlement row;
		struct uuid        id;
		memcpy(id.b, ids.at + at, sizeof id.b);
		err = entitlement_get(request->view, request->account->id, pass, id, &row);
		err = err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		if (!err) err = list_one(listing, &row);
	}
	buffer_free(&ids);
	return err;
}

enum err on_ENTITLEMENT_LIST(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	bool                  history = arg_boolean(&args[ARG_ENTITLEMENT_LIST_include_history], false);
	struct listing        listing = {.request = request,
	                                 .pass_id = arg_span(&args[ARG_ENTITLEMENT_LIST_pass_id])};
	struct hot_at         pass;
	list_begin(&listing.list, outcome);
	enum err err = pass_find(request, listing.pass_id, false, &pass);
	if (!err) err = history ? list_all(&listing, pass.number) : list_redeemable(&listing, pass.number);
	if (!err) err = list_end(&listing.list, listing.count, false);
	list_drop(&listing.list);
	buffer_free(&listing.room);
	return err;
}
