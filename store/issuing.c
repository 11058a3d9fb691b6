/* Rows of the tables ISSUING and TEMPLATE_IMAGES. */
#include "store/issuing.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum { ROW_VERSION = 1, AT_BEGUN = 8, AT_KEY = 16, HEAD_BYTES = 48 };

bool issuing_key_read(struct span key, struct account_id *account, uint32_t *number)
{
	if (key.size != sizeof *account + 4) return false;
	memcpy(account->b, key.at, sizeof *account);
	*number = get_be32(key.at + sizeof *account);
	return true;
}

enum err issuing_read(struct span value, struct issuing *row)
{
	const uint8_t *at = value.at;
	if (value.size < HEAD_BYTES || at[0] != ROW_VERSION || at[1] > 1) return ERR_DAMAGED;
	size_t icon = get_le16(at + 2), logo = get_le16(at + 4), banner = get_le16(at + 6);
	size_t all = logo + banner + icon;
	if (all != value.size - HEAD_BYTES || all == 0) return ERR_DAMAGED;
	row->has_key = at[1];
	row->begun.v = (int64_t)get_le64(at + AT_BEGUN);
	memcpy(row->key, at + AT_KEY, sizeof row->key);
	row->logo = span_of(at + HEAD_BYTES, logo);
	row->banner = span_of(at + HEAD_BYTES + logo, banner);
	row->icon = span_of(at + HEAD_BYTES + logo + banner, icon);
	return row->begun.v < 0 ? ERR_DAMAGED : OK;
}

static struct span cut(struct span url)
{
	return span_of(url.at, url.size > URL_BYTES_MAX ? URL_BYTES_MAX + 1 : url.size);
}

static enum err get(struct view *view, enum table table, struct row_key key, struct issuing *row)
{
	struct span value;
	enum err    err = view_get(view, table, key_span(&key), &value);
	return err ? err : issuing_read(value, row);
}

static enum err put(struct view *view, enum table table, struct row_key key, const struct issuing *row)
{
	struct span logo = cut(row->logo), banner = cut(row->banner), icon = cut(row->icon);
	uint8_t     value[HEAD_BYTES + 3 * (URL_BYTES_MAX + 1)] = {ROW_VERSION, row->has_key};
	put_le16(value + 2, (uint16_t)icon.size);
	put_le16(value + 4, (uint16_t)logo.size);
	put_le16(value + 6, (uint16_t)banner.size);
	put_le64(value + AT_BEGUN, (uint64_t)row->begun.v);
	memcpy(value + AT_KEY, row->key, sizeof row->key);
	if (logo.size) memcpy(value + HEAD_BYTES, logo.at, logo.size);
	if (banner.size) memcpy(value + HEAD_BYTES + logo.size, banner.at, banner.size);
	if (icon.size) memcpy(value + HEAD_BYTES + logo.size + banner.size, icon.at, icon.size);
	return view_put(view, table, &key, span_of(value, HEAD_BYTES + logo.size + banner.size + icon.size));
}

static enum err del(struct view *view, enum table table, struct row_key key)
{
	return view_del(view, table, &key);
}

enum err issuing_get(struct view *view, struct account_id account, uint32_t number, struct issuing *row)
{
	return get(view, TABLE_ISSUING, key_u32(account, number), row);
}

enum err issuing_put(struct view *view, struct account_id account, uint32_t number, const struct issuing *row)
{
	return put(view, TABLE_ISSUING, key_u32(account, number), row);
}

enum err issuing_del(struct view *view, struct account_id account, uint32_t number)
{
	return del(view, TABLE_ISSUING, key_u32(account, number));
}

enum err template_images_get(struct view *view, struct account_id account, uint32_t number,
                             struct issuing *row)
{
	return get(view, TABLE_TEMPLATE_IMAGES, key_u32(account, number), row);
}

enum err template_images_put(struct view *view, struct account_id account, uint32_t number,
                             const struct issuing *row)
{
	return put(view, TABLE_TEMPLATE_IMAGES, key_u32(account, number), row);
}

enum err template_images_del(struct view *view, struct account_id account, uint32_t number)
{
	return del(view, TABLE_TEMPLATE_IMAGES, key_u32(account, number));
}
