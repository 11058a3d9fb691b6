/* Rows of the tables ACCOUNT and KEY. */
#include "store/account_row.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum {
	SWITCH_REWARDS = 1,
	SWITCH_WEBHOOKS = 2,
	SWITCH_SUSPENDED = 4,
	WALLETS_SHIFT = 3, /* the set of wallets that are off */
	SWITCH_LOOKS = 32,
	HEAD_BYTES = 21,
	LOOKS_BYTES = 16,
	NAME_BYTES_MAX = 1000,
	KEY_BYTES = 48
};

enum err account_row_read(struct span value, struct account_row *row)
{
	if (value.size < HEAD_BYTES) return ERR_DAMAGED;
	*row = (struct account_row){
	    .rewards = value.at[0] & SWITCH_REWARDS,
	    .webhooks = value.at[0] & SWITCH_WEBHOOKS,
	    .suspended = value.at[0] & SWITCH_SUSPENDED,
	    .wallets_off = value.at[0] >> WALLETS_SHIFT & WALLET_BITS_ALL,
	    .double_scan_window_s = get_le32(value.at + 1),
	    .rate_limit = get_le32(value.at + 5),
	    .template_count = get_le32(value.at + 9),
	    .created = {(int64_t)get_le64(value.at + 13)},
	    .name = span_of(value.at + HEAD_BYTES, value.size - HEAD_BYTES),
	};
	if (!(value.at[0] & SWITCH_LOOKS)) return OK;
	if (row->name.size < LOOKS_BYTES) return ERR_DAMAGED;
	row->looks = get_le32(row->name.at);
	row->name_look = get_le32(row->name.at + 4);
	row->named.v = (int64_t)get_le64(row->name.at + 8);
	row->name = span_of(row->name.at + LOOKS_BYTES, row->name.size - LOOKS_BYTES);
	return row->looks ? OK : ERR_DAMAGED;
}

enum err account_row_get(struct view *view, struct account_id id, struct account_row *row)
{
	struct row_key key = key_account(id);
	struct span    value;
	enum err       err = view_get(view, TABLE_ACCOUNT, key_span(&key), &value);
	return err ? err : account_row_read(value, row);
}

enum err account_row_put(struct view *view, struct account_id id, const struct account_row *row)
{
	struct row_key key = key_account(id);
	uint8_t        bytes[HEAD_BYTES + LOOKS_BYTES + NAME_BYTES_MAX];
	size_t         size = HEAD_BYTES;
	if (row->name.size > NAME_BYTES_MAX) return ERR_TOO_LARGE;
	bytes[0] = (uint8_t)((row->rewards ? SWITCH_REWARDS : 0) | (row->webhooks ? SWITCH_WEBHOOKS : 0) |
	                     (row->suspended ? SWITCH_SUSPENDED : 0) | row->wallets_off << WALLETS_SHIFT |
	                     (row->looks ? SWITCH_LOOKS : 0));
	put_le32(bytes + 1, row->double_scan_window_s);
	put_le32(bytes + 5, row->rate_limit);
	put_le32(bytes + 9, row->template_count);
	put_le64(bytes + 13, (uint64_t)row->created.v);
	if (row->looks) {
		put_le32(bytes + size, row->looks);
		put_le32(bytes + size + 4, row->name_look);
		put_le64(bytes + size + 8, (uint64_t)row->named.v);
		size += LOOKS_BYTES;
	}
	memcpy(bytes + size, row->name.at, row->name.size);
	return view_put(view, TABLE_ACCOUNT, &key, span_of(bytes, size + row->name.size));
}

enum err account_row_next(struct view *view, struct account_id *id, struct account_row *row)
{
	struct row_key  key = key_account(*id);
	struct view_row found;
	key.bytes[key.size++] = 0; /* the smallest key after the account's own */
	enum err err = view_from(view, TABLE_ACCOUNT, key_span(&key), &found);
	if (err) return err;
	if (found.key.size != sizeof *id) return ERR_DAMAGED;
	memcpy(id->b, found.key.at, sizeof id->b);
	return account_row_read(found.value, row);
}

enum err key_row_put(struct view *view, struct account_id account, const struct key_row *row)
{
	struct row_key key = key_uuid(account, row->id);
	uint8_t        bytes[KEY_BYTES];
	memcpy(bytes, row->hash, 32);
	put_le64(bytes + 32, (uint64_t)row->created.v);
	put_le64(bytes + 40, (uint64_t)row->revoked.v);
	return view_put(view, TABLE_KEY, &key, span_of(bytes, sizeof bytes));
}

enum err key_row_read(struct span value, struct key_row *row)
{
	if (value.size != KEY_BYTES) return ERR_DAMAGED;
	memcpy(row->hash, value.at, 32);
	row->created.v = (int64_t)get_le64(value.at + 32);
	row->revoked.v = (int64_t)get_le64(value.at + 40);
	return OK;
}

enum err key_row_next(struct view *view, struct account_id account, struct key_row *row)
{
	struct row_key  begin = key_account(account), key = key_uuid(account, row->id);
	struct view_row found;
	key.bytes[key.size++] = 0;
	enum err err = view_from(view, TABLE_KEY, key_span(&key), &found);
	if (err) return err;
	if (!key_has_prefix(found.key, key_span(&begin))) return ERR_NOT_FOUND;
	if (found.key.size != begin.size + sizeof row->id) return ERR_DAMAGED;
	memcpy(row->id.b, found.key.at + begin.size, sizeof row->id.b);
	return key_row_read(found.value, row);
}
