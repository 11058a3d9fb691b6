/* Rows of passes in Google's wallet. Without a service account on this server there are none, and none is looked up. */
#include "actors/shard/wallet/google.h"

#include "actors/shard/wallet/wallet.h"
#include "schemas/states.h"
#include "store/tally.h"
#include "store/wallet_due.h"

static bool is_here(const struct request *request)
{
	return wallet_kinds_here(request) & WALLET_BIT(WALLET_GOOGLE);
}

/* *row.state 0: Google has never said anything of it. */
static enum err find(struct request *request, struct account_id account, struct wallet_google *row)
{
	if (!is_here(request)) return OK;
	enum err err = wallet_google_row_get(request->view, account, row);
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err google_is_saved(struct request *request, struct account_id account, uint32_t pass_number,
                         bool *is_saved)
{
	struct wallet_google row = {.pass_number = pass_number};
	enum err             err = find(request, account, &row);
	*is_saved = !err && row.state == WALLET_GOOGLE_SAVED;
	return err;
}

enum err google_credential(struct request *request, struct account_id account, uint32_t pass_number,
                           struct wallet_credential *credential)
{
	struct wallet_google row = {.pass_number = pass_number};
	enum err             err = find(request, account, &row);
	bool                 is_saved = row.state == WALLET_GOOGLE_SAVED;
	bool is_there = is_saved || row.state == WALLET_GOOGLE_MADE || row.state == WALLET_GOOGLE_GONE;
	if (err) return err;
	if (is_there) {
		err = wallet_credential_of(request->view, account, WALLET_GOOGLE, row.issuer, credential);
		if (err && err != ERR_NOT_FOUND) return err;
		bool works = !err && !credential->rest_s;
		if (!err && (is_saved || works)) return OK;
	}
	return wallet_credential_now(request->view, account, WALLET_GOOGLE, credential);
}

enum err google_update_at(struct request *request, struct account_id account, uint32_t pass_number,
                          wall_us *at)
{
	struct wallet_google row = {.pass_number = pass_number};
	enum err             err = find(request, account, &row);
	bool                 is_there = !err && row.state && row.state != WALLET_GOOGLE_GONE;
	bool                 waits = row.state != WALLET_GOOGLE_SAVED && row.quiet.v > request->now.v;
	at->v = !is_there ? INT64_MAX : waits ? row.quiet.v : request->now.v;
	return err;
}

enum err google_row_change(struct request *request, const struct hot_at *pass,
                           const struct wallet_google *row, unsigned was)
{
	int      more = (row->state == WALLET_GOOGLE_SAVED) - (was == WALLET_GOOGLE_SAVED);
	enum err err = wallet_google_row_put(request->view, pass->account, row);
	if (err || pass->now.status != PASS_ACTIVE) return err;
	return tally_installed(request->view, pass->account, WALLET_GOOGLE, more);
}

enum err google_forget(struct request *request, const struct hot_at *pass)
{
	struct wallet_google row = {.pass_number = pass->number};
	enum err             err = find(request, pass->account, &row);
	if (err || row.state != WALLET_GOOGLE_SAVED) return err;
	row.state = WALLET_GOOGLE_GONE;
	return google_row_change(request, pass, &row, WALLET_GOOGLE_SAVED);
}

enum err google_pass_erased(struct request *request, const struct hot_at *pass,
                            const uint8_t token[TOKEN_BYTES])
{
	struct wallet_google row = {.pass_number = pass->number};
	struct wallet_due    due = {.account = pass->account,
	                            .kind = WALLET_DUE_GOOGLE,
	                            .number = pass->number,
	                            .due = request->now,
	                            .since = request->now};
	enum err             err = find(request, pass->account, &row);
	if (err || !row.state) return err; /* what was deleted there is at Google still */
	memcpy(row.token, token, sizeof row.token);
	if ((err = wallet_google_row_put(request->view, pass->account, &row))) return err;
	return wallet_due_put(request->view, &due);
}
