/* Rows of the table REDEMPTION. */
#include "store/redemption.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { ROW_VERSION = 1, AT_AMOUNT = 4, AT_REMAINING = 8, AT_CONTEXT = 12, AT_NOTE = 14, AT_CREATED = 16 };

static struct row_key key_redemption(struct account_id account, const struct redemption *row)
{
	struct row_key key = key_u32(account, row->pass);
	memcpy(key.bytes + key.size, row->entitlement.b, sizeof row->entitlement.b);
	key.size += sizeof row->entitlement.b;
	memcpy(key.bytes + key.size, row->id.b, sizeof row->id.b);
	key.size += sizeof row->id.b;
	return key;
}

enum err redemption_key_read(struct span rest, struct redemption *row)
{
	if (rest.size != REDEMPTION_KEY_REST) return ERR_DAMAGED;
	row->pass = get_be32(rest.at);
	memcpy(row->entitlement.b, rest.at + 4, sizeof row->entitlement.b);
	memcpy(row->id.b, rest.at + 20, sizeof row->id.b);
	return OK;
}

enum err redemption_read(struct span value, struct redemption *row)
{
	const uint8_t *at = value.at;
	if (value.size < REDEMPTION_HEAD_BYTES || get_le32(at) != ROW_VERSION) return ERR_DAMAGED;
	size_t context = get_le16(at + AT_CONTEXT), note = get_le16(at + AT_NOTE);
	if (context + note != value.size - REDEMPTION_HEAD_BYTES) return ERR_DAMAGED;
	row->amount = get_le32(at + AT_AMOUNT);
	row->remaining = get_le32(at + AT_REMAINING);
	row->created.v = (int64_t)get_le64(at + AT_CREATED);
	row->context = span_of(at + REDEMPTION_HEAD_BYTES, context);
	row->note = span_of(at + REDEMPTION_HEAD_BYTES + context, note);
	return row->amount ? OK : ERR_DAMAGED;
}

enum err redemption_get(struct view *view, struct account_id account, struct redemption *row)
{
	struct row_key key = key_redemption(account, row);
	struct span    value;
	enum err       err = view_get(view, TABLE_REDEMPTION, key_span(&key), &value);
	return err ? err : redemption_read(value, row);
}

enum err redemption_put(struct view *view, struct account_id account, const struct redemption *row)
{
	struct row_key key = key_redemption(account, row);
	struct buffer  bytes = {0};
	uint8_t        head[REDEMPTION_HEAD_BYTES] = {ROW_VERSION};
	must(row->context.size <= UINT16_MAX && row->note.size <= UINT16_MAX);
	put_le32(head + AT_AMOUNT, row->amount);
	put_le32(head + AT_REMAINING, row->remaining);
	put_le16(head + AT_CONTEXT, (uint16_t)row->context.size);
	put_le16(head + AT_NOTE, (uint16_t)row->note.size);
	put_le64(head + AT_CREATED, (uint64_t)row->created.v);
	buffer_append(&bytes, head, sizeof head);
	buffer_append(&bytes, row->context.at, row->context.size);
	buffer_append(&bytes, row->note.at, row->note.size);
	return view_put_buffer(view, TABLE_REDEMPTION, &key, &bytes);
}

enum err redemption_next(struct view *view, struct account_id account, struct buffer *room,
                         struct redemption *row)
{
	struct row_key  begin = key_u32(account, row->pass), key = key_redemption(account, row);
	struct view_row found;
	memset(key.bytes + key.size, 0xff, 2); /* behind its own last part */
	key.size += 2;
	enum err err = view_parted_from(view, TABLE_REDEMPTION, key_span(&key), room, &found);
	if (err) return err;
	if (!key_has_prefix(found.key, key_span(&begin))) return ERR_NOT_FOUND;
	size_t head = sizeof account.b;
	err = redemption_key_read(span_of(found.key.at + head, found.key.size - head), row);
	return err ? err : redemption_read(found.value, row);
}
