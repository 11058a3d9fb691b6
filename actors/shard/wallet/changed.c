/* What a change of a pass means for the wallets that have it, or may have. */
#include "actors/shard/wallet/changed.h"

#include "actors/shard/wallet/google.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/states.h"
#include "store/cleanup.h"
#include "store/registration.h"
#include "store/tally.h"
#include "schemas/wallet/kind.h"
#include "store/wallet_due.h"
#include "store/wallet_message.h"

enum err wallet_due_put_change(struct request *request, const struct wallet_due *due)
{
	struct wallet_due row = *due;
	enum err          err = wallet_due_get(request->view, &row);
	if (err && err != ERR_NOT_FOUND) return err;
	bool is_new = err == ERR_NOT_FOUND;
	bool is_early = !is_new && !row.tries && row.due.v > due->due.v;
	bool gives_way = row.flags & WALLET_DUE_IS_BULK;
	if (!is_new && !is_early && (!gives_way || due->flags & WALLET_DUE_IS_BULK)) return OK;
	row.flags = due->flags;
	if (is_new || is_early) row.due = row.since = due->due;
	return wallet_due_put(request->view, &row);
}

static enum err changes_due_at(struct request *request, const struct hot_at *pass, enum wallet_due_kind kind,
                               wall_us at)
{
	const struct wallet_due due = {
	    .account = pass->account, .kind = kind, .number = pass->number, .due = at};
	return wallet_due_put_change(request, &due);
}

enum err wallet_changes_due(struct request *request, const struct hot_at *pass, enum wallet_due_kind kind)
{
	return changes_due_at(request, pass, kind, request->now);
}

static enum err forget_message(struct request *request, const struct hot_at *pass)
{
	struct wallet_message row = {.pass_number = pass->number};
	if (!wallet_kinds_here(request)) return OK;
	enum err err = wallet_message_get(request->view, pass->account, &row);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return wallet_message_del(request->view, pass->account, pass->number);
}

/* Does a credential serve one of its phones? */
static enum err find_reachable(struct request *request, struct registration *phone, bool *is_reachable)
{
	struct wallet_credential row;
	enum err                 err = OK;
	*is_reachable = false;
	while (!err && !*is_reachable) {
		err = wallet_credential_of(request->view, request->account->id, WALLET_APPLE,
		                           phone->credential, &row);
		*is_reachable = !err;
		if (err == ERR_NOT_FOUND) err = registration_next(request->view, request->account->id, phone);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err wallet_look_ends(struct request *request, const struct hot_at *pass, struct wallet_ending *ending)
{
	struct registration phone = {.pass_number = pass->number};
	*ending = (struct wallet_ending){.has_phones = false};
	if (!wallet_kinds_here(request)) return OK;
	enum err err = registration_first(request->view, pass->account, &phone);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	ending->is_on_phone = pass->now.status == PASS_ACTIVE;
	if (!wallet_is_on(&request->account->row, WALLET_APPLE)) return OK;
	return find_reachable(request, &phone, &ending->has_phones);
}

enum err wallet_ended(struct request *request, const struct hot_at *pass, const struct wallet_ending *ending)
{
	return tally_installed(request->view, pass->account, WALLET_APPLE, -ending->is_on_phone);
}

enum err wallet_pass_erased(struct request *request, const struct hot_at *pass,
                            const uint8_t token[TOKEN_BYTES], const struct wallet_ending *ending)
{
	struct cleanup phones = cleanup_of_number(pass->account, CLEANUP_REGISTRATIONS, pass->number);
	if (!ending->has_phones) {
		enum err err = cleanup_get(request->view, &phones);
		return err == ERR_NOT_FOUND ? OK : err ? err : cleanup_del(request->view, &phones);
	}
	phones.from.v = request->now.v + WALLET_ERASED_HOURS * INT64_C(3600) * US_PER_SEC;
	phones.state_size = TOKEN_BYTES;
	memcpy(phones.state, token, TOKEN_BYTES);
	enum err err = cleanup_put(request->view, &phones);
	return err ? err : wallet_changes_due(request, pass, WALLET_DUE_PUSH);
}

/* A pass in Google's wallet becomes active, or ends. One that is removed by the operator's word was counted as Google's state changed. */
static enum err count_saved(struct request *request, const struct hot_at *pass, int more)
{
	bool     is_saved;
	enum err err = google_is_saved(request, pass->account, pass->number, &is_saved);
	return err ? err : tally_installed(request->view, pass->account, WALLET_GOOGLE, is_saved ? more : 0);
}

/* It is active no more. */
static enum err leave(struct request *request, const struct hot_at *pass, struct hot *after)
{
	struct wallet_due due = {
	    .account = pass->account, .kind = WALLET_DUE_REMOVAL, .number = pass->number};
	struct cleanup phones = cleanup_of_number(pass->account, CLEANUP_REGISTRATIONS, pass->number);
	enum err       err = OK;
	if (after->flags & HOT_BY_WALLET) {
		after->flags &= (uint8_t)~HOT_BY_WALLET;
		err = wallet_due_get(request->view, &due);
		if (err && err != ERR_NOT_FOUND) return err;
		if (!err) err = wallet_due_del(request->view, &due);
		if (err == ERR_NOT_FOUND) err = OK;
	}
	if (!err) err = forget_message(request, pass);
	if (!err && after->status == PASS_DEACTIVATED) err = count_saved(request, pass, -1);
	bool keeps = !err && wallet_kinds_here(request) && after->status == PASS_DEACTIVATED &&
	             !(after->flags & HOT_ERASED);
	if (!keeps) return err;
	phones.from = wallet_ended_until(request->now);
	return cleanup_put(request->view, &phones);
}

static enum err update_google(struct request *request, const struct hot_at *pass)
{
	wall_us  at;
	enum err err = google_update_at(request, pass->account, pass->number, &at);
	return err || at.v == INT64_MAX ? err : changes_due_at(request, pass, WALLET_DUE_GOOGLE, at);
}

enum err wallet_pass_changes(struct request *request, const struct hot_at *pass, struct hot *after)
{
	bool has_ended = after->status == PASS_DEACTIVATED && !(after->flags & HOT_ERASED);
	bool was_active = pass->now.status == PASS_ACTIVE;
	bool is_shown = has_ended || (was_active ? after->status == PASS_ACTIVE : pass_is_issued(after));
	if (!pass_is_issued(&pass->now)) return OK; /* nobody has it */
	enum err err = was_active && after->status != PASS_ACTIVE ? leave(request, pass, after) : OK;
	if (!err && !was_active && after->status == PASS_ACTIVE) err = count_saved(request, pass, 1);
	if (err || !is_shown) return err;
	if (was_active && wallet_kinds_here(request) & WALLET_BIT(WALLET_APPLE))
		err = wallet_changes_due(request, pass, WALLET_DUE_PUSH);
	/* Of one that is not active a link was perhaps followed, and Google's callback lost. */
	return err ? err : update_google(request, pass);
}
