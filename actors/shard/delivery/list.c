/* delivery list ACCOUNT [--subscription ID]: deliveries that wait, are in progress or ended recently, in one view. A delivery
 * that is no longer wanted is shown as discarded, although its row stays queued until it is due. */
#include "actors/shard/delivery/delivery.h"
#include "actors/shard/list/list_out.h"
#include "schemas/object_msgpack.h"
#include "schemas/api/delivery.h"

struct listing {
	struct request *request;
	struct list_out list;
	struct uuid     only;
	bool            has_only;
	uint64_t        count;
};

static void list_row(struct listing *listing, const struct delivery *row, enum delivery_outcome outcome)
{
	char event[4 + UUID_TEXT] = "evt_";
	if (listing->has_only && !uuid_same(row->subscription, listing->only)) return;
	listing->count++;
	uuid_text(row->event, event + 4);
	msgpack_packer packer = buffer_packer(list_item(&listing->list)), *pk = &packer;
	size_t         map = map_begin(pk);
	MEMBER_ALWAYS(event_id, STRING, event);
	MEMBER_ALWAYS(type, EventKind, event_text(row->kind));
	MEMBER_ALWAYS(subscription_id, UUID, row->subscription);
	MEMBER_ALWAYS(attempts, INTEGER, row->attempts);
	MEMBER_NULLABLE(next_due_at, TIME, outcome == DELIVERY_PENDING, row->due);
	MEMBER_ALWAYS(outcome, STRING, delivery_outcome_text(outcome));
	delivery_pack_last(pk, map, row->status, row->error, row->detail);
}

static enum err list_pending(struct listing *listing)
{
	struct request *request = listing->request;
	struct delivery row = {.account = request->account->id};
	bool            wanted;
	enum err        err = delivery_from(request->view, &row);
	while (!err && !listing->list.err && account_same(row.account, request->account->id)) {
		if ((err = delivery_is_wanted(request->view, request->account, &row, &wanted))) return err;
		list_row(listing, &row, wanted ? DELIVERY_PENDING : DELIVERY_DISCARDED);
		err = delivery_next(request->view, &row);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err list_ended(struct listing *listing)
{
	struct request     *request = listing->request;
	struct delivery_end row = {.number = 0};
	wall_us             kept = {request->now.v - DELIVERIES_KEPT_DAYS * US_PER_DAY};
	enum err            err = OK;
	while (!listing->list.err &&
	       !(err = delivery_end_after(request->view, request->account->id, row.number, &row)))
		if (row.ended.v >= kept.v) list_row(listing, &row.was, row.outcome);
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err on_DELIVERY_LIST(struct request *request, struct outcome *outcome)
{
	struct listing        listing = {.request = request};
	const msgpack_object *only = &request->args[ARG_DELIVERY_LIST_subscription_id];
	listing.has_only = arg_present(only);
	if (listing.has_only && arg_uuid(only, &listing.only))
		return refuse(outcome, REASON(WANTED, "subscription_id", .wanted = "a UUID"));
	list_begin(&listing.list, outcome);
	enum err err = list_ended(&listing);
	if (!err) err = list_pending(&listing);
	if (!err) err = list_end(&listing.list, listing.count, false);
	list_drop(&listing.list);
	return err;
}
