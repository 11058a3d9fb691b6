/* Rows of the table WALLET_DUE. */
#include "store/wallet_due.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { ROW_VERSION = 1, VALUE_BYTES = 9, KEY_BYTES = sizeof(struct account_id) + 1 + 4 };

static struct row_key key_of(const struct wallet_due *row)
{
	struct row_key key = key_account(row->account);
	key.bytes[key.size++] = (uint8_t)row->kind;
	put_be32(key.bytes + key.size, row->pass_number);
	key.size += 4;
	return key;
}

enum err wallet_due_key_read(struct span key, struct wallet_due *row)
{
	size_t at = sizeof row->account;
	if (key.size != KEY_BYTES || key.at[at] < 1 || key.at[at] >= WALLET_DUE_KINDS_END) return ERR_DAMAGED;
	memcpy(row->account.b, key.at, sizeof row->account.b);
	row->kind = (enum wallet_due_kind)key.at[at];
	row->pass_number = get_be32(key.at + at + 1);
	return OK;
}

enum err wallet_due_read(struct span key, struct span value, struct wallet_due *row)
{
	if (value.size != VALUE_BYTES || value.at[0] != ROW_VERSION) return ERR_DAMAGED;
	row->due.v = (int64_t)get_le64(value.at + 1);
	return wallet_due_key_read(key, row);
}

enum err wallet_due_put(struct view *view, const struct wallet_due *row)
{
	struct row_key key = key_of(row);
	uint8_t        value[VALUE_BYTES] = {ROW_VERSION};
	put_le64(value + 1, (uint64_t)row->due.v);
	return write_put(view_writes(view), TABLE_WALLET_DUE, key_span(&key), span_of(value, sizeof value));
}

enum err wallet_due_del(struct view *view, const struct wallet_due *row)
{
	struct row_key key = key_of(row);
	return write_del(view_writes(view), TABLE_WALLET_DUE, key_span(&key));
}

enum err wallet_due_get(struct view *view, struct wallet_due *row)
{
	struct row_key key = key_of(row);
	struct span    value;
	enum err       err = view_get(view, TABLE_WALLET_DUE, key_span(&key), &value);
	return err ? err : wallet_due_read(key_span(&key), value, row);
}

enum err wallet_due_from(struct view *view, struct wallet_due *row)
{
	struct row_key  key = key_of(row);
	struct view_row found;
	enum err        err = view_from(view, TABLE_WALLET_DUE, key_span(&key), &found);
	return err ? err : wallet_due_read(found.key, found.value, row);
}

enum err wallet_due_next(struct view *view, struct wallet_due *row)
{
	struct view_row found;
	enum err        err = view_next(view, TABLE_WALLET_DUE, &found);
	return err ? err : wallet_due_read(found.key, found.value, row);
}
