/* Packs an account for the operator. */
#include "actors/shard/account/facts.h"
#include "schemas/object_msgpack.h"

void account_pack(struct account_id id, const struct account_row *row, msgpack_packer *pk)
{
	char account_id[ACCOUNT_ID_TEXT];
	account_id_text(id, account_id);
	size_t map = map_begin(pk);
	MEMBER_ALWAYS(account_id, STRING, account_id);
	MEMBER_ALWAYS(name, STRING, row->name);
	MEMBER_ALWAYS(rewards, BOOLEAN, row->rewards);
	MEMBER_ALWAYS(webhooks, BOOLEAN, row->webhooks);
	MEMBER_ALWAYS(suspended, BOOLEAN, row->suspended);
	MEMBER_ALWAYS(double_scan_window_seconds, INTEGER, row->double_scan_window_s);
	MEMBER_ALWAYS(rate_limit, INTEGER, row->rate_limit);
	MEMBER_ALWAYS(wallet, STRING, wallet_setting_text(WALLET_BITS_ALL & ~row->wallets_off));
	MEMBER_ALWAYS(created_at, TIME, row->created);
}
