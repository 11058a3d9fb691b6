/* Counts waiting and late deliveries, and the subscriptions that fail most: one walk over the queues, subscription by
 * subscription. */
#include "actors/shard/delivery/backlog.h"

#include "actors/shard/delivery/delivery.h"
#include "schemas/object_msgpack.h"
#include "schemas/limits.h"
#include "schemas/url.h"
#include "store/account_row.h"
#include "store/subscription.h"

/* Inserts the lane among the worst if it belongs there. */
static void note_lane(struct backlog *backlog, const struct backlog_lane *lane)
{
	unsigned at = backlog->worst_count;
	if (lane->retries == 0) return;
	if (at == FAILING_MAX && backlog->worst[--at].retries >= lane->retries) return;
	if (backlog->worst_count < FAILING_MAX) backlog->worst_count++;
	for (; at && backlog->worst[at - 1].retries < lane->retries; at--)
		backlog->worst[at] = backlog->worst[at - 1];
	backlog->worst[at] = *lane;
}

static bool is_of(const struct backlog_lane *lane, const struct delivery *row)
{
	return uuid_same(lane->subscription, row->subscription) && account_same(lane->account, row->account);
}

/* The generation whose rows the lane's subscription still wants; 0: none. Rows of other generations are discarded when due and
 * are not counted. */
static enum err generation_of(struct view *view, const struct delivery *row, uint32_t *generation)
{
	struct subscription subscription;
	struct account_row  account;
	*generation = 0;
	enum err err = account_row_get(view, row->account, &account);
	if (!err && account.webhooks)
		err = subscription_get(view, row->account, row->subscription, &subscription);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (account.webhooks && subscription.active) *generation = subscription.generation;
	return OK;
}

static void note_row(struct backlog *backlog, const struct delivery *row, wall_us now)
{
	if (row->zone == ZONE_LEASED) {
		backlog->leased++;
		return;
	}
	backlog->waiting++;
	if (row->due.v > now.v) return;
	int64_t late = (now.v - row->due.v) / US_PER_SEC;
	backlog->due++;
	if (late > backlog->oldest_due_seconds) backlog->oldest_due_seconds = late;
}

enum err backlog_count(struct view *view, wall_us now, struct backlog *backlog)
{
	struct delivery     row = {.due = {0}};
	struct backlog_lane lane = {.retries = 0};
	uint32_t            generation = 0;
	*backlog = (struct backlog){.waiting = 0};
	enum err err = delivery_from(view, &row);
	for (unsigned i = 0; !err && i < DELIVERIES_COUNTED_MAX; i++) {
		if (!is_of(&lane, &row)) {
			note_lane(backlog, &lane);
			lane = (struct backlog_lane){.account = row.account,
			                             .subscription = row.subscription};
			if ((err = generation_of(view, &row, &generation))) return err;
		}
		bool wanted = row.generation == generation;
		if (wanted) note_row(backlog, &row, now);
		if (wanted && row.zone == ZONE_WAITING && row.attempts) {
			lane.retries++;
			lane.error = row.error;
			lane.status = row.status;
			lane.detail = row.detail;
		}
		err = delivery_next(view, &row);
	}
	note_lane(backlog, &lane);
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Where the subscription's deliveries go, HOST:PORT; "" if the subscription was deleted. */
static enum err endpoint_of(struct view *view, const struct backlog_lane *lane, struct url *url)
{
	struct subscription row;
	enum err            err = subscription_get(view, lane->account, lane->subscription, &row);
	url->origin[0] = 0;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	err = url_read(row.url, url);
	return err == ERR_INVALID_WEBHOOK_URL ? ERR_DAMAGED : err;
}

static enum err pack_line(struct view *view, const struct backlog_lane *lane, msgpack_packer *pk)
{
	char       account[ACCOUNT_ID_TEXT];
	struct url url;
	enum err   err = endpoint_of(view, lane, &url);
	size_t     map = map_begin(pk);
	account_id_text(lane->account, account);
	MEMBER_ALWAYS(account_id, STRING, account);
	MEMBER_ALWAYS(subscription_id, UUID, lane->subscription);
	MEMBER_ALWAYS(endpoint, STRING, url.origin);
	MEMBER_ALWAYS(retries, INTEGER, lane->retries);
	delivery_pack_last(pk, map, lane->status, lane->error, lane->detail);
	return err;
}

enum err backlog_pack(struct view *view, const struct backlog *backlog, msgpack_packer *pk, size_t map)
{
	enum err err = OK;
	MEMBER_ALWAYS(due_deliveries, INTEGER, backlog->due);
	MEMBER_ALWAYS(oldest_due_seconds, INTEGER, backlog->oldest_due_seconds);
	MEMBER_ALWAYS(waiting_deliveries, INTEGER, backlog->waiting);
	MEMBER_ALWAYS(leased_deliveries, INTEGER, backlog->leased);
	map_key(pk, map, "failing_subscriptions");
	msgpack_pack_array(pk, backlog->worst_count);
	for (unsigned i = 0; i < backlog->worst_count && !err; i++)
		err = pack_line(view, &backlog->worst[i], pk);
	return err;
}
