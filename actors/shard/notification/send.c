/* NOTIFICATION_SEND: hands over what is due. The timer calls it with each heartbeat, and again at once while the answer says
 * that more is due. Without a timer nothing is sent until one is back. */
#include "actors/shard/notification/notification.h"

#include "actors/shard/notification/due.h"
#include "actors/shard/wallet/message.h"
#include "actors/shard/wallet/wallet.h"
#include "store/audience.h"
#include "store/hot.h"

/* Rows written: an account's counts. For each notification its due row, and usually the row of columns that it shares with its
 * neighbours, and one for wallets where there are some. */
enum {
	WRITES_OF_ACCOUNT = 1,
	WRITES_OF_ONE = 2,
	WRITES_FOR_WALLETS = 1,
	SENT_MAX = BULK_WRITES_MAX,
	TURN_MAX = 8
};

struct plan {
	unsigned                count, writes, writes_more; /* the last: of each notification, for wallets */
	bool                    more;
	struct notification_due steps[SENT_MAX];
};

static bool is_full(const struct plan *plan, unsigned needed)
{
	return plan->writes + plan->writes_more + needed > (unsigned)BULK_WRITES_MAX ||
	       plan->count == SENT_MAX;
}

static void add(struct plan *plan, const struct notification_due *due, bool first)
{
	bool beside = !first && plan->steps[plan->count - 1].number / NOTICES == due->number / NOTICES;
	plan->writes += (beside ? WRITES_OF_ONE - 1 : WRITES_OF_ONE) + plan->writes_more;
	if (first) plan->writes += WRITES_OF_ACCOUNT;
	plan->steps[plan->count++] = *due;
}

static enum err take_account(struct request *request, const struct due_account *account, unsigned room,
                             struct plan *plan)
{
	struct notification_due due = {.account = account->id, .at = {INT64_MIN}};
	enum err                err = notification_due_from(request->view, &due);
	for (unsigned i = 0; !err; i++) {
		bool is_due = account_same(due.account, account->id) && due.at.v <= request->now.v;
		if (!is_due) return OK;
		if (i == room || is_full(plan, WRITES_OF_ACCOUNT + WRITES_OF_ONE)) {
			plan->more = true;
			return OK;
		}
		add(plan, &due, i == 0);
		err = notification_due_next(request->view, &due);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err make_plan(struct request *request, struct plan *plan)
{
	const struct due_account *account;
	bool                      alone;
	enum err                  err = OK;
	due_turn_begin(request->notices);
	while (!err && !is_full(plan, WRITES_OF_ACCOUNT + WRITES_OF_ONE) &&
	       (account = due_turn(request->notices, request->now, &alone)))
		err = take_account(request, account, alone && plan->count == 0 ? SENT_MAX : TURN_MAX, plan);
	plan->more |= is_full(plan, WRITES_OF_ACCOUNT + WRITES_OF_ONE);
	return err;
}

/* Does the recipient still exist? */
static enum err has_recipient(struct request *request, struct account_id account,
                              const struct notification *row, bool *has)
{
	struct hot_at pass;
	*has = false;
	if (row->to_audience) {
		enum err err = audience_row_exists(request->view, account, row->audience);
		*has = !err;
		return err == ERR_NOT_FOUND ? OK : err;
	}
	enum err err = hot_get(request->view, account, row->pass_number, &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	*has = !(pass.now.flags & HOT_DELETED);
	return OK;
}

static enum err send_one(struct request *request, const struct notification_due *due)
{
	struct notification row;
	bool                has;
	enum err            err = notification_get(request->view, due->account, due->number, &row);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if ((err = has_recipient(request, due->account, &row, &has))) return err;
	/* What was due when it was created for a pass went to wallets with that command. */
	bool is_for_wallets = has && (row.to_audience || due->at.v > row.created.v);
	if (is_for_wallets &&
	    (err = wallet_message_is_due(request, due->account, due->number, row.to_audience)))
		return err;
	return notification_end(request->view, due->account, due->number,
	                        has ? NOTIFICATION_SENT : NOTIFICATION_FAILED,
	                        has ? request->now : (wall_us){0});
}

/* The answer: is more due? */
enum err on_NOTIFICATION_SEND(struct request *request, struct outcome *outcome)
{
	struct plan    plan = {.writes_more = wallet_kinds_here(request) ? WRITES_FOR_WALLETS : 0};
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = make_plan(request, &plan);
	for (unsigned i = 0; i < plan.count && !err; i++)
		err = send_one(request, &plan.steps[i]);
	plan.more ? msgpack_pack_true(&pk) : msgpack_pack_false(&pk);
	return err;
}
