/* Rows of the table WALLET_MESSAGE. */
#include "store/wallet_message.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { ROW_VERSION = 1, ROW_BYTES = 14 };

enum err wallet_message_read(struct span key, struct span value, struct wallet_message *row)
{
	*row = (struct wallet_message){.flags = 0};
	if (key.size != 4 || value.size != ROW_BYTES || value.at[0] != ROW_VERSION) return ERR_DAMAGED;
	row->pass_number = get_be32(key.at);
	row->flags = value.at[1];
	row->notification = get_le32(value.at + 2);
	row->sent.v = (int64_t)get_le64(value.at + 6);
	return row->flags < WALLET_MESSAGE_FLAGS_END ? OK : ERR_DAMAGED;
}

enum err wallet_message_put(struct view *view, struct account_id account, const struct wallet_message *row)
{
	struct row_key key = key_u32(account, row->pass_number);
	uint8_t        value[ROW_BYTES] = {ROW_VERSION, row->flags};
	put_le32(value + 2, row->notification);
	put_le64(value + 6, (uint64_t)row->sent.v);
	return view_put(view, TABLE_WALLET_MESSAGE, &key, span_of(value, ROW_BYTES));
}

enum err wallet_message_del(struct view *view, struct account_id account, uint32_t pass_number)
{
	struct row_key key = key_u32(account, pass_number);
	return view_del(view, TABLE_WALLET_MESSAGE, &key);
}

enum err wallet_message_get(struct view *view, struct account_id account, struct wallet_message *row)
{
	struct row_key key = key_u32(account, row->pass_number);
	struct span    value;
	enum err       err = view_get(view, TABLE_WALLET_MESSAGE, key_span(&key), &value);
	if (err) return err;
	return wallet_message_read(span_of(key.bytes + sizeof account, 4), value, row);
}
