/* Passes that holders have saved in Google's wallet: what becomes of their rows and their status. Google says so in a callback, or when
 * an offered pass is updated (WALLET_GOOGLE_SAVED), since a callback may be lost. */
#include "actors/shard/wallet/google.h"
#include "actors/shard/wallet/phone.h"
#include "schemas/api/google.h"
#include "store/wallet_message.h"

/* A message that came before the pass was saved is not sent later. */
static enum err pass_over_message(struct request *request, struct wallet_google *row)
{
	struct wallet_message shown = {.pass_number = row->pass_number};
	enum err              err = wallet_message_get(request->view, request->account->id, &shown);
	if (!err) row->message = shown.notification + 1;
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err google_pass_saved(struct request *request, const struct hot_at *pass, struct wallet_google *row)
{
	enum err err = row->state == WALLET_GOOGLE_SAVED ? OK : pass_over_message(request, row);
	bool     may = pass_may_be_put(&pass->now);
	unsigned was = row->state;
	row->state = WALLET_GOOGLE_SAVED;
	if (!err) err = google_row_change(request, pass, row, was);
	if (!err) err = phone_removal_cancel(request, pass);
	return !err && may && pass->now.status != PASS_ACTIVE ? phone_pass_installed(request, pass) : err;
}

enum err on_WALLET_GOOGLE_SAVED(struct request *request, struct outcome *outcome)
{
	struct wallet_due due = {
	    .account = request->account->id,
	    .kind = WALLET_DUE_SAVED,
	    .number = (uint32_t)arg_integer(&request->args[ARG_WALLET_GOOGLE_SAVED_number], 0)};
	struct wallet_google row = {.pass_number = due.number};
	struct hot_at        pass;
	(void)outcome;
	enum err err = wallet_due_get(request->view, &due);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	err = wallet_google_row_get(request->view, due.account, &row);
	if (!err) err = hot_get(request->view, due.account, due.number, &pass);
	bool is_known = err || row.state == WALLET_GOOGLE_SAVED || row.state == WALLET_GOOGLE_GONE;
	if (err && err != ERR_NOT_FOUND) return err;
	err = wallet_due_del(request->view, &due);
	row.quiet.v = 0; /* Google has shown it */
	return err || is_known ? err : google_pass_saved(request, &pass, &row);
}
