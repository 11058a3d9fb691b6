/* Rows of the table WALLET_GOOGLE. */
#include "store/wallet_google.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { ROW_VERSION = 1, AT_ISSUER = 2, AT_CALLBACK = 10, AT_MESSAGE = 18, AT_NOTICES = 22 };
enum {
	AT_TOKEN = AT_NOTICES + 8 * WALLET_GOOGLE_NOTICES,
	AT_QUIET = AT_TOKEN + WALLET_GOOGLE_TOKEN_BYTES,
	ROW_BYTES = AT_QUIET + 8
};

enum err wallet_google_row_read(struct span key, struct span value, struct wallet_google *row)
{
	*row = (struct wallet_google){.state = 0};
	if (key.size != 4 || value.size != ROW_BYTES || value.at[0] != ROW_VERSION) return ERR_DAMAGED;
	row->pass_number = get_be32(key.at);
	row->state = value.at[1];
	row->issuer = get_le64(value.at + AT_ISSUER);
	row->callback_ms = (int64_t)get_le64(value.at + AT_CALLBACK);
	row->message = get_le32(value.at + AT_MESSAGE);
	for (unsigned i = 0; i < WALLET_GOOGLE_NOTICES; i++)
		row->notices[i].v = (int64_t)get_le64(value.at + AT_NOTICES + 8 * i);
	memcpy(row->token, value.at + AT_TOKEN, sizeof row->token);
	row->quiet.v = (int64_t)get_le64(value.at + AT_QUIET);
	return row->state && row->state < WALLET_GOOGLE_STATES ? OK : ERR_DAMAGED;
}

enum err wallet_google_row_put(struct view *view, struct account_id account, const struct wallet_google *row)
{
	struct row_key key = key_u32(account, row->pass_number);
	uint8_t        value[ROW_BYTES] = {ROW_VERSION, row->state};
	put_le64(value + AT_ISSUER, row->issuer);
	put_le64(value + AT_CALLBACK, (uint64_t)row->callback_ms);
	put_le32(value + AT_MESSAGE, row->message);
	for (unsigned i = 0; i < WALLET_GOOGLE_NOTICES; i++)
		put_le64(value + AT_NOTICES + 8 * i, (uint64_t)row->notices[i].v);
	memcpy(value + AT_TOKEN, row->token, sizeof row->token);
	put_le64(value + AT_QUIET, (uint64_t)row->quiet.v);
	return view_put(view, TABLE_WALLET_GOOGLE, &key, span_of(value, ROW_BYTES));
}

enum err wallet_google_row_del(struct view *view, struct account_id account, uint32_t pass_number)
{
	struct row_key key = key_u32(account, pass_number);
	return view_del(view, TABLE_WALLET_GOOGLE, &key);
}

enum err wallet_google_row_get(struct view *view, struct account_id account, struct wallet_google *row)
{
	struct row_key key = key_u32(account, row->pass_number);
	struct span    value;
	enum err       err = view_get(view, TABLE_WALLET_GOOGLE, key_span(&key), &value);
	if (err) return err;
	return wallet_google_row_read(span_of(key.bytes + sizeof account, 4), value, row);
}

/* Of another account: no more. */
static enum err take(struct account_id account, const struct view_row *found, struct wallet_google *row)
{
	size_t size = sizeof account;
	if (found->key.size < size) return ERR_DAMAGED;
	if (memcmp(found->key.at, account.b, size) != 0) return ERR_NOT_FOUND;
	return wallet_google_row_read(span_of(found->key.at + size, found->key.size - size), found->value,
	                              row);
}

enum err wallet_google_row_from(struct view *view, struct account_id account, struct wallet_google *row)
{
	struct row_key  key = key_u32(account, row->pass_number);
	struct view_row found;
	enum err        err = view_from(view, TABLE_WALLET_GOOGLE, key_span(&key), &found);
	return err ? err : take(account, &found, row);
}

enum err wallet_google_row_next(struct view *view, struct account_id account, struct wallet_google *row)
{
	struct view_row found;
	enum err        err = view_next(view, TABLE_WALLET_GOOGLE, &found);
	return err ? err : take(account, &found, row);
}
