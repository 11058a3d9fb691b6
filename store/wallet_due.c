/* Rows of the table WALLET_DUE. */
#include "store/wallet_due.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum {
	ROW_VERSION = 1,
	KEY_BYTES = sizeof(struct account_id) + 1 + 4,
	DUE_BYTES = 9,
	SINCE_BYTES = DUE_BYTES + 10,
	POSITION_BYTES = DUE_BYTES + 4
};

static size_t size_of(enum wallet_due_kind kind)
{
	if (kind == WALLET_DUE_PUSH || kind == WALLET_DUE_GOOGLE || kind == WALLET_DUE_CLASS)
		return SINCE_BYTES;
	bool has_only_due = kind == WALLET_DUE_REMOVAL || kind == WALLET_DUE_NOTICE ||
	                    kind == WALLET_DUE_SAVED;
	return has_only_due ? DUE_BYTES : POSITION_BYTES;
}

static struct row_key key_of(const struct wallet_due *row)
{
	struct row_key key = key_account(row->account);
	key.bytes[key.size++] = (uint8_t)row->kind;
	put_be32(key.bytes + key.size, row->number);
	key.size += 4;
	return key;
}

enum err wallet_due_key_read(struct span key, struct wallet_due *row)
{
	size_t at = sizeof row->account;
	if (key.size != KEY_BYTES || key.at[at] < 1 || key.at[at] >= WALLET_DUE_KINDS_END) return ERR_DAMAGED;
	memcpy(row->account.b, key.at, sizeof row->account.b);
	row->kind = (enum wallet_due_kind)key.at[at];
	row->number = get_be32(key.at + at + 1);
	return OK;
}

enum err wallet_due_read(struct span key, struct span value, struct wallet_due *row)
{
	*row = (struct wallet_due){.number = 0};
	if (wallet_due_key_read(key, row) || value.size != size_of(row->kind) || value.at[0] != ROW_VERSION)
		return ERR_DAMAGED;
	row->due.v = (int64_t)get_le64(value.at + 1);
	if (value.size == POSITION_BYTES) row->position = get_le32(value.at + DUE_BYTES);
	if (value.size != SINCE_BYTES) return OK;
	row->since.v = (int64_t)get_le64(value.at + DUE_BYTES);
	row->tries = value.at[DUE_BYTES + 8];
	row->flags = value.at[DUE_BYTES + 9];
	return row->flags < WALLET_DUE_FLAGS_END ? OK : ERR_DAMAGED;
}

enum err wallet_due_put(struct view *view, const struct wallet_due *row)
{
	struct row_key key = key_of(row);
	uint8_t        value[SINCE_BYTES] = {ROW_VERSION};
	size_t         size = size_of(row->kind);
	put_le64(value + 1, (uint64_t)row->due.v);
	if (size == POSITION_BYTES) put_le32(value + DUE_BYTES, row->position);
	if (size == SINCE_BYTES) {
		put_le64(value + DUE_BYTES, (uint64_t)row->since.v);
		value[DUE_BYTES + 8] = row->tries;
		value[DUE_BYTES + 9] = row->flags;
	}
	return view_put(view, TABLE_WALLET_DUE, &key, span_of(value, size));
}

enum err wallet_due_del(struct view *view, const struct wallet_due *row)
{
	struct row_key key = key_of(row);
	return view_del(view, TABLE_WALLET_DUE, &key);
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
