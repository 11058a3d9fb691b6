/* WALLET_LEFT: phones that a push left out, since no credential served them. They are pushed to when one does. Until then they are
 * looked at once a day, since they may go; and whenever a credential is put or removed (work.c). */
#include "actors/shard/wallet/changed.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/wallet.h"
#include "store/registration.h"

struct counted {
	uint32_t served, left;
};

/* A range read. */
static enum err count_phones(struct request *request, uint32_t number, struct counted *counted)
{
	struct registration row = {.pass_number = number};
	bool                is_on = wallet_is_on(&request->account->row, WALLET_APPLE);
	enum err            err = registration_first(request->view, request->account->id, &row);
	*counted = (struct counted){.left = 0};
	for (; !err; err = registration_next(request->view, request->account->id, &row)) {
		struct wallet_credential credential;
		err = wallet_credential_of(request->view, request->account->id, WALLET_APPLE, row.credential,
		                           &credential);
		if (err && err != ERR_NOT_FOUND) return err;
		bool serves = is_on && !err && !wallet_credential_ended(&credential, request->now);
		++*(serves ? &counted->served : &counted->left);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

/* A row that waits for its next try waits no longer: its phones are more than those that failed. */
static enum err push(struct request *request, const struct wallet_due *push)
{
	struct wallet_due row = *push;
	enum err          err = wallet_due_get(request->view, &row);
	if (err && err != ERR_NOT_FOUND) return err;
	if (err || !row.tries) return wallet_due_put_change(request, push);
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
	struct counted          counted;
	(void)outcome;
	enum err err = wallet_due_get(request->view, &left);
	if (!err) err = count_phones(request, left.number, &counted);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (counted.served && counted.left < left.position) err = push(request, &due);
	if (err) return err;
	if (!counted.left) return wallet_due_del(request->view, &left);
	left.position = counted.left;
	left.due.v = request->now.v + US_PER_DAY;
	return wallet_due_put(request->view, &left);
}
