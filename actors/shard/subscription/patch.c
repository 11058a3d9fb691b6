/* PATCH /v1/webhook-subscriptions/{id}: what is given replaces what was; what is left out, or an empty list of kinds,
 * leaves it. A PATCH that changes nothing leaves updated_at where it was. What waits for a subscription that is
 * deactivated is of a generation that has passed; other changes keep it. */
#include "actors/shard/subscription/subscription.h"
#include "schemas/api/subscription.h"

/* The row as the caller wants it, as far as that can be judged without the row. */
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
