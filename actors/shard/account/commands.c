/* The small commands of accounts. */
#include "actors/shard/account/facts.h"
#include "actors/shard/key/key.h"
#include "actors/shard/list/list_out.h"
#include "actors/shard/wallet/google_class.h"
#include "actors/shard/wallet/touch.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/account.h"
#include "store/image_shape.h"
#include "store/wallet_due.h"

/* Sets `row->name` to the argument. */
static enum err take_name(const msgpack_object *argument, struct account_row *row, struct outcome *outcome)
{
	row->name = arg_span(argument);
	if (text_is_plain(row->name, ACCOUNT_NAME_BYTES_MAX)) return OK;
	return refuse(outcome, REASON(PLAIN_TEXT, "name", .most = ACCOUNT_NAME_BYTES_MAX));
}

/* account create: the caller has drawn the id and the key, and sends only the key's hash. */
enum err on_ACCOUNT_CREATE(struct request *request, struct outcome *outcome)
{
	struct account_row row = {
	    .rewards = arg_boolean(&request->args[ARG_ACCOUNT_CREATE_rewards], false),
	    .webhooks = arg_boolean(&request->args[ARG_ACCOUNT_CREATE_webhooks], false),
	    .double_scan_window_s = DOUBLE_SCAN_WINDOW_DEFAULT_S,
	    .created = request->now,
	};
	msgpack_packer    pk = buffer_packer(outcome->payload);
	struct account_id id = request->call->account;
	if (request->account) return ERR_RESOURCE_CONFLICT;
	enum err err = take_name(&request->args[ARG_ACCOUNT_CREATE_name], &row, outcome);
	if (!err) err = account_row_put(request->view, id, &row);
	if (err) return err;
	struct key_row key;
	if ((err = key_make(request, arg_span(&request->args[ARG_ACCOUNT_CREATE_key_hash]), &key)))
		return err;
	account_pack(id, &row, &pk);
	return OK;
}

/* account show */
enum err on_ACCOUNT_SHOW(struct request *request, struct outcome *outcome)
{
	msgpack_packer pk = buffer_packer(outcome->payload);
	account_pack(request->account->id, &request->account->row, &pk);
	return OK;
}

/* account list: the accounts of this shard, in the order of ids; the caller merges the shards. */
enum err on_ACCOUNT_LIST(struct request *request, struct outcome *outcome)
{
	struct account_id  id = {{0}};
	struct account_row row;
	struct list_out    list;
	uint64_t           total = 0;
	enum err           err = OK;
	list_begin(&list, outcome);
	while (!list.err && !(err = account_row_next(request->view, &id, &row))) {
		msgpack_packer pk = buffer_packer(list_item(&list));
		account_pack(id, &row, &pk);
		total++;
	}
	if (!err || err == ERR_NOT_FOUND) err = list_end(&list, total, false);
	list_drop(&list);
	return err;
}

/* account rename: changes the name for people; nothing refers to an account by its name. */
enum err on_ACCOUNT_RENAME(struct request *request, struct outcome *outcome)
{
	struct account_row row = request->account->row;
	msgpack_packer     pk = buffer_packer(outcome->payload);
	enum err           err = take_name(&request->args[ARG_ACCOUNT_RENAME_name], &row, outcome);
	if (!err && !span_equal(row.name, request->account->row.name)) {
		row.name_look = ++row.looks;
		row.named = request->now;
	}
	if (!err) err = account_row_put(request->view, request->account->id, &row);
	bool is_new = row.looks != request->account->row.looks;
	if (!err && is_new) err = wallet_touch_passes(request, WALLET_EVERY_TEMPLATE, request->now);
	if (!err && is_new) err = google_classes_due(request);
	if (!err) account_pack(request->account->id, &row, &pk);
	return err;
}

/* account set: changes the settings that are given. Switching webhooks off begins a new generation of each subscription, so
 * that pending deliveries are discarded and do not return when it is switched on again. Subscriptions stay active. */
static enum err pass_generations(struct request *request)
{
	const struct account *account = request->account;
	struct subscription   row;
	enum err              err = OK;
	for (unsigned i = 0; !err && i < account->webhooks->count; i++) {
		err = subscription_get(request->view, account->id, account->webhooks->of[i]->id, &row);
		if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
		row.generation++;
		err = subscription_put(request->view, account->id, &row);
	}
	return err;
}

static enum err take_wallet(const msgpack_object *argument, struct account_row *row, struct outcome *outcome)
{
	unsigned on;
	if (!arg_present(argument)) return OK;
	if (!wallet_setting_read(arg_span(argument), &on))
		return refuse(outcome, REASON(WANTED, "wallet", .wanted = "on, off, apple or google"));
	row->wallets_off = (uint8_t)(WALLET_BITS_ALL & ~on);
	return OK;
}

/* Images that were fetched while the account had no Apple wallet have no shapes, and phones that asked were given nothing. */
static enum err begin_apple(struct request *request, const struct account_row *row)
{
	struct wallet_credential credential;
	if (wallet_is_on(&request->account->row, WALLET_APPLE) || !wallet_is_on(row, WALLET_APPLE)) return OK;
	enum err err = wallet_credential_now(request->view, request->account->id, WALLET_APPLE, &credential);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	err = shapes_want_all(request->view, request->account->id);
	return err ? err : wallet_touch_passes(request, WALLET_EVERY_PHONE, request->now);
}

enum err on_ACCOUNT_SET(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	struct account_row    row = request->account->row;
	msgpack_packer        pk = buffer_packer(outcome->payload);
	row.rewards = arg_boolean(&args[ARG_ACCOUNT_SET_rewards], row.rewards);
	row.webhooks = arg_boolean(&args[ARG_ACCOUNT_SET_webhooks], row.webhooks);
	row.suspended = arg_boolean(&args[ARG_ACCOUNT_SET_suspended], row.suspended);
	row.double_scan_window_s = (uint32_t)arg_integer(&args[ARG_ACCOUNT_SET_double_scan_window_seconds],
	                                                 row.double_scan_window_s);
	row.rate_limit = (uint32_t)arg_integer(&args[ARG_ACCOUNT_SET_rate_limit], row.rate_limit);
	enum err err = take_wallet(&args[ARG_ACCOUNT_SET_wallet], &row, outcome);
	if (!err && request->account->row.webhooks && !row.webhooks) err = pass_generations(request);
	if (!err) err = begin_apple(request, &row);
	if (!err && !wallet_is_on(&request->account->row, WALLET_GOOGLE) && wallet_is_on(&row, WALLET_GOOGLE))
		err = google_classes_due(request);
	if (!err) err = account_row_put(request->view, request->account->id, &row);
	if (!err) account_pack(request->account->id, &row, &pk);
	return err;
}
