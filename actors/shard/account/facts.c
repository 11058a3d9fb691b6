/* An account as the operator sees it. */
#include "actors/shard/account/facts.h"

void account_pack(struct account_id id, const struct account_row *row, msgpack_packer *pk)
{
	char id_text[ACCOUNT_ID_TEXT];
	account_id_text(id, id_text);
	msgpack_pack_map(pk, 8);
	pack_text(pk, "account_id");
	pack_text(pk, id_text);
	pack_member(pk, "name", row->name);
	pack_switch(pk, "rewards", row->rewards);
	pack_switch(pk, "webhooks", row->webhooks);
	pack_switch(pk, "suspended", row->suspended);
	pack_text(pk, "double_scan_window_seconds");
	msgpack_pack_uint32(pk, row->double_scan_window_s);
	pack_text(pk, "rate_limit");
	msgpack_pack_uint32(pk, row->rate_limit);
	pack_time(pk, "created_at", row->created);
}
