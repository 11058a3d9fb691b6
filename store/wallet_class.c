/* Rows of the table WALLET_CLASS. */
#include "store/wallet_class.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { ROW_VERSION = 1, ROW_BYTES = 9 };

enum err wallet_class_read(struct span key, struct span value, struct wallet_class *row)
{
	*row = (struct wallet_class){.issuer = 0};
	if (key.size != 4 || value.size != ROW_BYTES || value.at[0] != ROW_VERSION) return ERR_DAMAGED;
	row->template_number = get_be32(key.at);
	row->issuer = get_le64(value.at + 1);
	return OK;
}

enum err wallet_class_put(struct view *view, struct account_id account, const struct wallet_class *row)
{
	struct row_key key = key_u32(account, row->template_number);
	uint8_t        value[ROW_BYTES] = {ROW_VERSION};
	put_le64(value + 1, row->issuer);
	return view_put(view, TABLE_WALLET_CLASS, &key, span_of(value, ROW_BYTES));
}

enum err wallet_class_del(struct view *view, struct account_id account, uint32_t template_number)
{
	struct row_key key = key_u32(account, template_number);
	return view_del(view, TABLE_WALLET_CLASS, &key);
}

enum err wallet_class_get(struct view *view, struct account_id account, struct wallet_class *row)
{
	struct row_key key = key_u32(account, row->template_number);
	struct span    value;
	enum err       err = view_get(view, TABLE_WALLET_CLASS, key_span(&key), &value);
	if (err) return err;
	return wallet_class_read(span_of(key.bytes + sizeof account, 4), value, row);
}
