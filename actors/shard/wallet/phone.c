/* Passes on phones: which pass a phone means, whether it may have it, and what becomes of the pass's status. */
#include "actors/shard/wallet/phone.h"

#include "actors/shard/delivery/fan_out.h"
#include "actors/shard/wallet/google.h"
#include "store/cleanup.h"
#include "store/tally.h"

#include <openssl/crypto.h>

enum err phone_erased_token(struct request *request, const struct hot_at *pass, uint8_t token[TOKEN_BYTES])
{
	struct cleanup row = cleanup_of_number(pass->account, CLEANUP_REGISTRATIONS, pass->number);
	enum err       err = cleanup_get(request->view, &row);
	if (!err && row.state_size != TOKEN_BYTES) err = ERR_NOT_FOUND;
	if (!err) memcpy(token, row.state, TOKEN_BYTES);
	return err;
}

/* The pass of which phones know that token, if it was erased. */
static enum err find_erased(struct request *request, const uint8_t token[TOKEN_BYTES], struct hot_at *pass,
                            struct body *body)
{
	struct account_id account;
	uint32_t          number;
	uint8_t           kept[TOKEN_BYTES];
	if (!token_read(&request->facts->tokens, token, &account, &number)) return ERR_NOT_FOUND;
	if (!account_same(account, request->account->id)) return ERR_NOT_FOUND;
	enum err err = hot_get(request->view, account, number, pass);
	if (!err && !(pass->now.flags & HOT_ERASED)) err = ERR_NOT_FOUND;
	if (!err) err = phone_erased_token(request, pass, kept);
	if (!err && CRYPTO_memcmp(kept, token, sizeof kept)) err = ERR_NOT_FOUND;
	if (err) return err;
	if ((err = pass_body(request, pass, body))) return err;
	memcpy(body->token, token, sizeof body->token);
	body->pass_id = span_of("", 0);
	return OK;
}

enum err phone_pass_body(struct request *request, struct span token, struct hot_at *pass, struct body *body)
{
	if (token.size != TOKEN_BYTES) return ERR_UNAUTHENTICATED;
	enum err err = pass_of_token_bytes(request, token.at, pass, body);
	if (err == ERR_RESOURCE_NOT_FOUND) err = find_erased(request, token.at, pass, body);
	return err == ERR_NOT_FOUND ? ERR_UNAUTHENTICATED : err;
}

enum err phone_pass(struct request *request, const msgpack_object *token, struct hot_at *pass)
{
	struct body body;
	return phone_pass_body(request, arg_span(token), pass, &body);
}

enum err phone_pass_ended(struct request *request, const struct hot_at *pass, wall_us *at)
{
	struct ledger_row row, before;
	enum err          err = ledger_get(request->view, pass->account, pass->now.ledger_head, &row);
	if (!err) *at = row.at;
	/* A pass that was deleted after it was deactivated had ended before. */
	if (!err && row.previous &&
	    !(err = ledger_get(request->view, pass->account, row.previous, &before)) &&
	    before.status == PASS_DEACTIVATED)
		*at = before.at;
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

enum err phone_may_have(struct request *request, const struct hot_at *pass)
{
	const struct hot *now = &pass->now;
	wall_us           ended;
	if (pass_is_issued(now)) return now->flags & HOT_REINSTALL_BLOCKED ? ERR_UNAUTHENTICATED : OK;
	if (now->status != PASS_DEACTIVATED) return ERR_UNAUTHENTICATED;
	if (now->flags & HOT_ERASED) return OK; /* while it is found */
	enum err err = phone_pass_ended(request, pass, &ended);
	if (err) return err;
	return request->now.v < wallet_ended_until(ended).v ? OK : ERR_UNAUTHENTICATED;
}

enum err phone_credential(struct request *request, struct span type, struct wallet_credential *row)
{
	enum err err = wallet_credential_of(request->view, request->account->id, WALLET_APPLE,
	                                    wallet_number(type), row);
	if (err) return err == ERR_NOT_FOUND ? ERR_UNAUTHENTICATED : err;
	return span_equal(row->name, type) ? OK : ERR_UNAUTHENTICATED;
}

enum err phone_pass_installed(struct request *request, const struct hot_at *pass)
{
	struct hot after = pass->now;
	after.status = PASS_ACTIVE;
	after.flags |= HOT_BY_WALLET;
	enum err err = pass_change(request, pass, after, (struct ledger_row){.what = LEDGER_INSTALLED});
	return err ? err : fan_out(request, EVENT_PASS_INSTALLED, pass->number);
}

enum err phone_pass_removed(struct request *request, const struct hot_at *pass)
{
	struct wallet_settings        room;
	const struct wallet_settings *settings;
	struct hot                    after = pass->now;
	enum err err = account_template_wallet(request->account, request->view, pass->now.template, &room,
	                                       &settings);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	after.status = PASS_REMOVED;
	if (settings->blocks_reinstall) after.flags |= HOT_REINSTALL_BLOCKED;
	err = pass_change(request, pass, after, (struct ledger_row){.what = LEDGER_UNINSTALLED});
	return err ? err : fan_out(request, EVENT_PASS_REMOVED, pass->number);
}

enum err phone_removal_begin(struct request *request, const struct hot_at *pass)
{
	struct wallet_due due = {.account = pass->account,
	                         .kind = WALLET_DUE_REMOVAL,
	                         .number = pass->number,
	                         .due = {request->now.v + WALLET_REMOVAL_S * US_PER_SEC}};
	return wallet_due_put(request->view, &due);
}

enum err phone_removal_cancel(struct request *request, const struct hot_at *pass)
{
	struct wallet_due due = {
	    .account = pass->account, .kind = WALLET_DUE_REMOVAL, .number = pass->number};
	enum err err = wallet_due_get(request->view, &due);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return wallet_due_del(request->view, &due);
}

/* No phone has the pass any more. */
static enum err count_lost(struct request *request, const struct hot_at *pass)
{
	if (pass->now.status != PASS_ACTIVE) return OK;
	return tally_installed(request->view, pass->account, WALLET_APPLE, -1);
}

enum err phone_gives_up(struct request *request, const struct hot_at *pass, const struct registration *phone,
                        bool is_last)
{
	bool     is_saved;
	enum err err = google_is_saved(request, pass->account, pass->number, &is_saved);
	if (!err) err = registration_del(request->view, pass->account, phone);
	if (!err && is_last) err = count_lost(request, pass);
	bool begins = is_last && !is_saved && pass->now.flags & HOT_BY_WALLET;
	return !err && begins ? phone_removal_begin(request, pass) : err;
}

enum err phone_forget_all(struct request *request, const struct hot_at *pass)
{
	struct registration row = {.pass_number = pass->number}, gone[REGISTRATIONS_PER_PASS_MAX];
	unsigned            count = 0;
	enum err            err = registration_first(request->view, pass->account, &row);
	for (; !err && count < REGISTRATIONS_PER_PASS_MAX; count++) {
		gone[count] = row;
		err = registration_next(request->view, pass->account, &row);
	}
	if (err && err != ERR_NOT_FOUND) return err;
	err = OK;
	for (unsigned i = 0; !err && i < count; i++)
		err = registration_del(request->view, pass->account, &gone[i]);
	if (!err && count) err = count_lost(request, pass);
	return err ? err : google_forget(request, pass);
}
