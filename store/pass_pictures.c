/* Rows of the table PASS_PICTURES. */
#include "store/pass_pictures.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum {
	ROW_VERSION = 1,
	URLS = 2 * PICTURES,
	AT_SIZES = 2,
	AT_BEGUN = AT_SIZES + 2 * URLS,
	AT_URLS = AT_BEGUN + 8
};

enum err pass_pictures_read(struct span value, struct pass_pictures *row)
{
	size_t at = AT_URLS;
	*row = (struct pass_pictures){.is_given_up = false};
	if (value.size < AT_URLS || value.at[0] != ROW_VERSION || value.at[1] > 1) return ERR_DAMAGED;
	row->is_given_up = value.at[1];
	row->begun.v = (int64_t)get_le64(value.at + AT_BEGUN);
	for (unsigned i = 0; i < URLS; i++) {
		size_t       size = get_le16(value.at + AT_SIZES + 2 * i);
		struct span *url = i < PICTURES ? &row->wanted[i] : &row->kept[i - PICTURES];
		if (size > value.size - at || size > URL_BYTES_MAX) return ERR_DAMAGED;
		*url = span_of(value.at + at, size);
		at += size;
	}
	bool has_wanted = row->wanted[0].size || row->wanted[1].size;
	return at == value.size && has_wanted && row->begun.v >= 0 ? OK : ERR_DAMAGED;
}

enum err pass_pictures_get(struct view *view, struct account_id account, uint32_t pass_number,
                           struct pass_pictures *row)
{
	struct row_key key = key_u32(account, pass_number);
	struct span    value;
	enum err       err = view_get(view, TABLE_PASS_PICTURES, key_span(&key), &value);
	return err ? err : pass_pictures_read(value, row);
}

enum err pass_pictures_put(struct view *view, struct account_id account, uint32_t pass_number,
                           const struct pass_pictures *row)
{
	struct row_key key = key_u32(account, pass_number);
	uint8_t        value[AT_URLS + URLS * URL_BYTES_MAX] = {ROW_VERSION, row->is_given_up};
	size_t         at = AT_URLS;
	put_le64(value + AT_BEGUN, (uint64_t)row->begun.v);
	for (unsigned i = 0; i < URLS; i++) {
		struct span url = i < PICTURES ? row->wanted[i] : row->kept[i - PICTURES];
		if (url.size > URL_BYTES_MAX) url.size = 0;
		put_le16(value + AT_SIZES + 2 * i, (uint16_t)url.size);
		if (url.size) memcpy(value + at, url.at, url.size);
		at += url.size;
	}
	return view_put(view, TABLE_PASS_PICTURES, &key, span_of(value, at));
}

enum err pass_pictures_del(struct view *view, struct account_id account, uint32_t pass_number)
{
	struct row_key key = key_u32(account, pass_number);
	return view_del(view, TABLE_PASS_PICTURES, &key);
}
