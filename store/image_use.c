/* Rows of the table IMAGE_USE. */
#include "store/image_use.h"

#include "schemas/json.h"
#include "schemas/sha256.h"
#include "schemas/pass_view.h"
#include "store/cleanup.h"
#include "store/keys.h"

enum { COUNT_BYTES = 4, VALUE_BYTES = COUNT_BYTES + 1 };
_Static_assert((int)IMAGE_USES > (int)PAGE_IMAGES, "a pass names what it shows; a template an icon, too");

static struct row_key key_of(struct account_id account, enum image_use what,
                             const uint8_t hash[IMAGE_HASH_BYTES])
{
	struct row_key key = key_account(account);
	key.bytes[key.size++] = (uint8_t)what;
	memcpy(key.bytes + key.size, hash, IMAGE_HASH_BYTES);
	key.size += IMAGE_HASH_BYTES;
	return key;
}

enum err image_use_read(struct span value, uint32_t *count, unsigned *roles)
{
	*count = 0;
	*roles = SHAPE_ROLES_ALL;
	if (value.size != COUNT_BYTES && value.size != VALUE_BYTES) return ERR_DAMAGED;
	*count = get_le32(value.at);
	if (value.size == VALUE_BYTES) *roles = value.at[COUNT_BYTES];
	return *count && *roles <= SHAPE_ROLES_ALL ? OK : ERR_DAMAGED;
}

static enum err get(struct view *view, const struct row_key *key, uint32_t *count, unsigned *roles)
{
	struct span value;
	enum err    err = view_get(view, TABLE_IMAGE_USE, key_span(key), &value);
	*count = *roles = 0;
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return image_use_read(value, count, roles);
}

enum err image_use_count(struct view *view, struct account_id account, enum image_use what,
                         const uint8_t hash[IMAGE_HASH_BYTES], uint32_t *count)
{
	struct row_key key = key_of(account, what, hash);
	unsigned       roles;
	return get(view, &key, count, &roles);
}

enum err image_use_roles(struct view *view, struct account_id account, const uint8_t url[IMAGE_HASH_BYTES],
                         unsigned *roles)
{
	struct row_key key = key_of(account, IMAGE_USE_URL, url);
	uint32_t       count;
	return get(view, &key, &count, roles);
}

static enum err leave_over(struct view *view, struct account_id account, enum image_use what,
                           const uint8_t hash[IMAGE_HASH_BYTES])
{
	enum cleanup_kind kind = what == IMAGE_USE_URL ? CLEANUP_IMAGE_URL : CLEANUP_IMAGE;
	struct cleanup    row = cleanup_of(account, kind, span_of(hash, IMAGE_HASH_BYTES));
	enum err          err = cleanup_get(view, &row); /* of a fetch under way: it sets the time */
	return err == ERR_NOT_FOUND ? cleanup_put(view, &row) : err;
}

enum err image_use_move(struct view *view, struct account_id account, struct image_use_of use,
                        const uint8_t hash[IMAGE_HASH_BYTES], int by)
{
	struct row_key key = key_of(account, use.what, hash);
	uint8_t        value[VALUE_BYTES];
	uint32_t       count;
	unsigned       roles;
	enum err       err = get(view, &key, &count, &roles);
	if (err || (count == 0 && by < 0)) return err;
	if (count + (uint32_t)by == 0) {
		err = view_del(view, TABLE_IMAGE_USE, &key);
		return err ? err : leave_over(view, account, use.what, hash);
	}
	put_le32(value, count + (uint32_t)by);
	value[COUNT_BYTES] = (uint8_t)(by > 0 ? roles | use.roles : roles);
	return view_put(view, TABLE_IMAGE_USE, &key, span_of(value, sizeof value));
}

enum err image_urls_of(struct span appearance, struct arena *arena, struct span urls[IMAGE_USES])
{
	struct json *object;
	memset(urls, 0, IMAGE_USES * sizeof *urls);
	if (!appearance.size) return OK;
	enum err err = json_parse(appearance, arena, &object);
	if (err) return err == ERR_NO_MEMORY ? err : ERR_DAMAGED;
	for (unsigned i = 0; i < PAGE_IMAGES; i++) {
		const struct json *url = json_member(object, page_image_names[i]);
		if (url && url->kind == JSON_STRING) urls[i] = url->text;
	}
	return OK;
}

/* By place in the array of URLs. */
static const struct image_use_of as[IMAGE_USES] = {
    {IMAGE_USE_URL, SHAPE_OF_LOGO}, {IMAGE_USE_URL, SHAPE_OF_BANNER}, {IMAGE_USE_URL, SHAPE_OF_ICON}};

static enum err move_url(struct view *view, struct account_id account, struct span url, unsigned place,
                         int by)
{
	uint8_t hash[SHA256_BYTES];
	if (!url.size) return OK;
	sha256_of(&url, 1, hash);
	return image_use_move(view, account, as[place], hash, by);
}

/* New references are counted first, so that no URL falls to 0 in between. */
enum err image_urls_move(struct view *view, struct account_id account, const struct span *before,
                         const struct span *after)
{
	enum err err = OK;
	for (unsigned i = 0; !err && after && i < IMAGE_USES; i++)
		if (!before || !span_equal(before[i], after[i]))
			err = move_url(view, account, after[i], i, 1);
	for (unsigned i = 0; !err && before && i < IMAGE_USES; i++)
		if (!after || !span_equal(before[i], after[i]))
			err = move_url(view, account, before[i], i, -1);
	return err;
}

enum err image_uses_move(struct view *view, struct account_id account, struct span before, struct span after)
{
	struct span old[IMAGE_USES], new[IMAGE_USES];
	if (span_equal(before, after)) return OK;
	enum err err = image_urls_of(before, view_arena(view), old);
	if (!err) err = image_urls_of(after, view_arena(view), new);
	return err ? err : image_urls_move(view, account, old, new);
}
