/* Rows of the table SUBSCRIPTION. */
#include "store/subscription.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum {
	ROW_VERSION = 1,
	AT_SECRET = 22,
	AT_KINDS = AT_SECRET + WEBHOOK_SEALED_BYTES,
	HEAD_BYTES = AT_KINDS + 1
};
_Static_assert(HEAD_BYTES + (int)EVENT_KINDS + URL_BYTES_MAX == (int)SUBSCRIPTION_BYTES_MAX,
               "as the header says");
_Static_assert((int)SUBSCRIPTION_BYTES_MAX <= (int)ROW_BYTES_MAX, "a row is in one piece");

/* Every kind is known, and there once. */
static bool kinds_are_sound(const struct subscription *row)
{
	uint32_t seen = 0;
	for (unsigned i = 0; i < row->kind_count; i++) {
		if (row->kinds[i] >= EVENT_KINDS || seen & 1u << row->kinds[i]) return false;
		seen |= 1u << row->kinds[i];
	}
	return seen != 0;
}

enum err subscription_read(struct span value, struct subscription *row)
{
	const uint8_t *at = value.at;
	if (value.size < HEAD_BYTES || at[0] != ROW_VERSION || at[1] > 1) return ERR_DAMAGED;
	row->active = at[1];
	row->generation = get_le32(at + 2);
	row->created.v = (int64_t)get_le64(at + 6);
	row->updated.v = (int64_t)get_le64(at + 14);
	memcpy(row->secret, at + AT_SECRET, sizeof row->secret);
	row->kind_count = at[AT_KINDS];
	if (row->kind_count > EVENT_KINDS || value.size <= HEAD_BYTES + (size_t)row->kind_count)
		return ERR_DAMAGED;
	memcpy(row->kinds, at + HEAD_BYTES, row->kind_count);
	row->url = span_of(at + HEAD_BYTES + row->kind_count, value.size - HEAD_BYTES - row->kind_count);
	return kinds_are_sound(row) && row->url.size <= URL_BYTES_MAX ? OK : ERR_DAMAGED;
}

size_t subscription_write(const struct subscription *row, uint8_t value[SUBSCRIPTION_BYTES_MAX])
{
	must(row->kind_count <= EVENT_KINDS && row->url.size <= URL_BYTES_MAX);
	value[0] = ROW_VERSION;
	value[1] = row->active;
	put_le32(value + 2, row->generation);
	put_le64(value + 6, (uint64_t)row->created.v);
	put_le64(value + 14, (uint64_t)row->updated.v);
	memcpy(value + AT_SECRET, row->secret, sizeof row->secret);
	value[AT_KINDS] = row->kind_count;
	memcpy(value + HEAD_BYTES, row->kinds, row->kind_count);
	memcpy(value + HEAD_BYTES + row->kind_count, row->url.at, row->url.size);
	return HEAD_BYTES + row->kind_count + row->url.size;
}

enum err subscription_get(struct view *view, struct account_id account, struct uuid id,
                          struct subscription *row)
{
	struct row_key key = key_uuid(account, id);
	struct span    value;
	enum err       err = view_get(view, TABLE_SUBSCRIPTION, key_span(&key), &value);
	row->id = id;
	return err ? err : subscription_read(value, row);
}

enum err subscription_put(struct view *view, struct account_id account, const struct subscription *row)
{
	struct row_key key = key_uuid(account, row->id);
	uint8_t        value[SUBSCRIPTION_BYTES_MAX];
	size_t         size = subscription_write(row, value);
	return view_put(view, TABLE_SUBSCRIPTION, &key, span_of(value, size));
}

enum err subscription_del(struct view *view, struct account_id account, struct uuid id)
{
	struct row_key key = key_uuid(account, id);
	return view_del(view, TABLE_SUBSCRIPTION, &key);
}

enum err subscription_next(struct view *view, struct account_id account, struct subscription *row)
{
	struct row_key  begin = key_account(account), key = key_uuid(account, row->id);
	struct view_row found;
	key.bytes[key.size++] = 0; /* the least key after its own */
	enum err err = view_from(view, TABLE_SUBSCRIPTION, key_span(&key), &found);
	if (err) return err;
	if (!key_has_prefix(found.key, key_span(&begin))) return ERR_NOT_FOUND;
	if (found.key.size != begin.size + sizeof row->id) return ERR_DAMAGED;
	memcpy(row->id.b, found.key.at + begin.size, sizeof row->id.b);
	return subscription_read(found.value, row);
}
