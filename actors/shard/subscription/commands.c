/* The commands of subscriptions. */
#include "actors/shard/subscription/subscription.h"
#include "actors/shard/list/list_out.h"
#include "schemas/api/subscription.h"

/* POST /v1/webhook-subscriptions: the only response that shows the secret. */
enum err on_SUBSCRIPTION_CREATE(struct request *request, struct outcome *outcome)
{
	struct subscription row = {
	    .active = true, .generation = 1, .created = request->now, .updated = request->now};
	const msgpack_object *args = request->args;
	msgpack_packer        pk = buffer_packer(outcome->payload);
	enum err err = subscription_take_url(request, outcome, &args[ARG_SUBSCRIPTION_CREATE_url], &row);
	if (err) return err;
	err = subscription_take_kinds(request, outcome, &args[ARG_SUBSCRIPTION_CREATE_event_types], &row);
	if (err) return err;
	if (row.kind_count == 0) {
		bool given = arg_present(&args[ARG_SUBSCRIPTION_CREATE_event_types]);
		return subscription_refuse_kinds(outcome, given ? CAUSE_KINDS_EMPTY : CAUSE_KINDS_MISSING);
	}
	if ((err = subscription_draw(request, &row))) return err;
	if ((err = subscription_check_active(request->account, outcome, &row))) return err;
	if (request->account->webhooks->stored->count >= WEBHOOKS_MAX)
		return refuse(outcome, REASON_OF_ALL(HOOKS_STORED, .most = WEBHOOKS_MAX));
	if ((err = subscription_put(request->view, request->account->id, &row))) return err;
	if ((err = subscription_note(request, &row, RECIPE_SUBSCRIPTION_AND_SECRET, outcome))) return err;
	return subscription_pack_whole(request, &row, &pk);
}

/* GET /v1/webhook-subscriptions/{id} */
enum err on_SUBSCRIPTION_GET(struct request *request, struct outcome *outcome)
{
	struct subscription row;
	msgpack_packer      pk = buffer_packer(outcome->payload);
	enum err err = subscription_find(request, &request->args[ARG_SUBSCRIPTION_GET_subscription_id], &row);
	if (!err) subscription_pack(&row, &pk);
	return err;
}

/* GET /v1/webhook-subscriptions: all of the account's subscriptions, the oldest first, in one response. */
enum err on_SUBSCRIPTION_LIST(struct request *request, struct outcome *outcome)
{
	struct list_out     list;
	struct subscription row = {.active = false};
	enum err            err = OK;
	list_begin(&list, outcome);
	while (!list.err && !(err = subscription_next(request->view, request->account->id, &row))) {
		msgpack_packer pk = buffer_packer(list_item(&list));
		subscription_pack(&row, &pk);
	}
	if (!err || err == ERR_NOT_FOUND) err = list_end(&list, 0, false);
	list_drop(&list);
	return err;
}

/* PATCH /v1/webhook-subscriptions/{id}: members that are given replace the old ones; absent ones, and an empty list of kinds,
 * leave them. A PATCH that changes nothing leaves updated_at. Deactivating begins a new generation, so that waiting
 * deliveries are discarded; other changes keep the generation. */

/* Reads the members that the request gives, with the checks that need no row. */
static enum err take_wishes(struct request *request, struct outcome *outcome, struct subscription *wish)
{
	const msgpack_object *url = &request->args[ARG_SUBSCRIPTION_PATCH_url];
	enum err err = arg_present(url) ? subscription_take_url(request, outcome, url, wish) : OK;
	if (err) return err;
	return subscription_take_kinds(request, outcome, &request->args[ARG_SUBSCRIPTION_PATCH_event_types],
	                               wish);
}

static void lay_over(struct subscription *row, const struct subscription *wish, bool active)
{
	if (wish->url.size) row->url = wish->url;
	if (wish->kind_count) {
		row->kind_count = wish->kind_count;
		memcpy(row->kinds, wish->kinds, wish->kind_count);
	}
	if (row->active && !active) row->generation++;
	row->active = active;
}

static bool is_same(const struct subscription *a, const struct subscription *b)
{
	return a->active == b->active && a->kind_count == b->kind_count &&
	       !memcmp(a->kinds, b->kinds, a->kind_count) && span_equal(a->url, b->url);
}

enum err on_SUBSCRIPTION_PATCH(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	struct subscription   wish = {.active = false}, before, row;
	msgpack_packer        pk = buffer_packer(outcome->payload);
	enum err              err = take_wishes(request, outcome, &wish);
	if (err) return err;
	err = subscription_find(request, &args[ARG_SUBSCRIPTION_PATCH_subscription_id], &before);
	if (err) return err;
	row = before;
	lay_over(&row, &wish, arg_boolean(&args[ARG_SUBSCRIPTION_PATCH_active], row.active));
	bool rises = row.active && (!before.active || !span_equal(row.url, before.url));
	if (rises && (err = subscription_check_active(request->account, outcome, &row))) return err;
	if (!is_same(&row, &before)) {
		row.updated = request->now;
		if ((err = subscription_put(request->view, request->account->id, &row))) return err;
	}
	if ((err = subscription_note(request, &row, RECIPE_SUBSCRIPTION, outcome))) return err;
	subscription_pack(&row, &pk);
	return OK;
}

/* DELETE /v1/webhook-subscriptions/{id}: without the row no waiting delivery has the right generation, so all are discarded. */
enum err on_SUBSCRIPTION_DELETE(struct request *request, struct outcome *outcome)
{
	(void)outcome;
	struct subscription   row;
	const msgpack_object *id = &request->args[ARG_SUBSCRIPTION_DELETE_subscription_id];
	enum err              err = subscription_find(request, id, &row);
	return err ? err : subscription_del(request->view, request->account->id, row.id);
}
