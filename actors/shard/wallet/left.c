/* What an active pass leaves behind when it is active no more. */
#include "actors/shard/wallet/left.h"

#include "schemas/states.h"
#include "store/cleanup.h"
#include "store/wallet_due.h"

enum err wallet_pass_left(struct request *request, const struct hot_at *pass, struct hot *after)
{
	struct wallet_due due = {
	    .account = pass->account, .kind = WALLET_DUE_REMOVAL, .pass_number = pass->number};
	struct cleanup phones = cleanup_of_number(pass->account, CLEANUP_REGISTRATIONS, pass->number);
	bool           has_wallets = atomic_load_explicit(&request->facts->wallets, memory_order_relaxed);
	enum err       err = OK;
	if (after->flags & HOT_BY_WALLET) {
		after->flags &= (uint8_t)~HOT_BY_WALLET;
		err = wallet_due_get(request->view, &due);
		if (err && err != ERR_NOT_FOUND) return err;
		if (!err) err = wallet_due_del(request->view, &due);
		if (err == ERR_NOT_FOUND) err = OK;
	}
	bool keeps = !err && has_wallets && after->status == PASS_DEACTIVATED && !(after->flags & HOT_ERASED);
	if (!keeps) return err;
	phones.from = wallet_ended_until(request->now);
	return cleanup_put(request->view, &phones);
}
