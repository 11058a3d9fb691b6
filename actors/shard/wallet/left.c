/* WALLET_LEFT: phones that a push left out, since no credential served them. They are pushed to when one does. Until then they are
 * looked at once a day, since they may go; and whenever a credential is put or removed, or a setting of the account changes
 * (held.c). */
#include "actors/shard/wallet/left.h"

#include "actors/shard/wallet/changed.h"
#include "actors/shard/wallet/wallet.h"
#include "actors/shard/wallet/work.h"
#include "schemas/api/push.h"
#include "store/registration.h"

enum { DAY_S = 86400, SOON_S = WORK_LEASE_S };

struct seen {
	bool     is_served, is_left; /* some phone */
	uint32_t mark;               /* of those that are left */
};

/* A range read. */
static enum err look(struct request *request, uint32_t number, struct seen *seen)
{
	struct registration row = {.pass_number = number};
	enum err            err = registration_first(request->view, request->account->id, &row);
	*seen = (struct seen){.mark = 0};
	for (; !err; err = registration_next(request->view, request->account->id, &row)) {
		struct wallet_credential credential;
		struct registration      phone = row;
		err = wallet_credential_of(request->view, request->account->id, WALLET_APPLE, row.credential,
		                           &credential);
		if (err && err != ERR_NOT_FOUND) return err;
		bool serves = !err && !wallet_credential_ended(&credential, request->now);
		seen->is_served |= serves;
		seen->is_left |= !serves;
		if (!serves) seen->mark = wallet_left_mark(seen->mark, &phone);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err look_later(struct request *request, struct wallet_due *left, int64_t seconds)
{
	left->due.v = request->now.v + seconds * US_PER_SEC;
	return wallet_due_put(request->view, left);
}

/* Nothing is new for them. One that was woken before its time keeps its row. */
static enum err look_next_day(struct request *request, struct wallet_due *left)
{
	if (left->due.v <= request->now.v) return look_later(request, left, DAY_S);
	return work_again(request->work, left->account, left->kind, left->number, left->due);
}

/* A row that waits for its next try waits no longer: its phones are more than those that failed. */
static enum err push(struct request *request, const struct wallet_due *due)
{
	struct wallet_due row = *due;
	enum err          err = wallet_due_get(request->view, &row);
	if (err && err != ERR_NOT_FOUND) return err;
	if (err || !row.tries) return wallet_due_put_change(request, due);
	if (row.due.v > request->now.v) row.due = request->now;
	return wallet_due_put(request->view, &row);
}

enum err on_WALLET_LEFT(struct request *request, struct outcome *outcome)
{
	struct wallet_due       left = {.account = request->account->id,
	                                .kind = WALLET_DUE_LEFT,
	                                .number = (uint32_t)arg_integer(&request->args[ARG_WALLET_LEFT_number], 0)};
	const struct wallet_due due = {.account = left.account,
	                               .kind = WALLET_DUE_PUSH,
	                               .number = left.number,
	                               .due = request->now,
	                               .flags = WALLET_DUE_IS_BULK};
	struct seen             seen;
	(void)outcome;
	enum err err = wallet_due_get(request->view, &left);
	if (!err) err = look(request, left.number, &seen);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (!seen.is_served && !seen.is_left) return wallet_due_del(request->view, &left);
	if (!wallet_is_on(&request->account->row, WALLET_APPLE)) return look_next_day(request, &left);
	if (seen.is_served && seen.mark != left.position) {
		/* A push that is under way is perhaps without them, and its report would end what is due. */
		if (work_is_leased(request->work, left.account, WALLET_DUE_PUSH, left.number))
			return look_later(request, &left, SOON_S);
		if ((err = push(request, &due))) return err;
	}
	if (!seen.is_left) return wallet_due_del(request->view, &left);
	if (left.position == seen.mark) return look_next_day(request, &left);
	left.position = seen.mark;
	return look_later(request, &left, DAY_S);
}
