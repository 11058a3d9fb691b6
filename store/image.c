/* Rows of the tables IMAGE and IMAGE_URL.
 * An image may exceed the writes of a command, so its parts are written by commands of their own. The row that names
 * it comes last, so a named image is complete. */
#include "store/image.h"

#include "schemas/bytes.h"
#include "schemas/sha256.h"
#include "store/cleanup.h"
#include "store/image_shape.h"
#include "store/image_use.h"
#include "store/keys.h"

enum { ROW_VERSION = 1, ROW_BYTES = 1 + IMAGE_HASH_BYTES + 3 * 4 + 8, PARTS_A_STEP = 8 };

static struct row_key key_hash(struct account_id account, const uint8_t hash[IMAGE_HASH_BYTES])
{
	struct row_key key = key_account(account);
	memcpy(key.bytes + key.size, hash, IMAGE_HASH_BYTES);
	key.size += IMAGE_HASH_BYTES;
	return key;
}

static struct row_key key_part(struct account_id account, const uint8_t hash[IMAGE_HASH_BYTES], unsigned part)
{
	struct row_key key = key_hash(account, hash);
	put_be16(key.bytes + key.size, (uint16_t)part);
	key.size += 2;
	return key;
}

static struct row_key key_url(struct account_id account, struct span url)
{
	uint8_t hash[SHA256_BYTES];
	sha256_of(&url, 1, hash);
	return key_hash(account, hash);
}

unsigned image_parts(const struct image *image)
{
	return (image->size + IMAGE_PART_BYTES - 1) / IMAGE_PART_BYTES;
}

enum err image_read(struct span value, struct image *image)
{
	const uint8_t *at = value.at;
	if (value.size != ROW_BYTES || at[0] != ROW_VERSION) return ERR_DAMAGED;
	memcpy(image->hash, at + 1, IMAGE_HASH_BYTES);
	at += 1 + IMAGE_HASH_BYTES;
	image->size = get_le32(at);
	image->width = get_le32(at + 4);
	image->height = get_le32(at + 8);
	image->fetched.v = (int64_t)get_le64(at + 12);
	bool sound = image->size && image->size <= IMAGE_BYTES_MAX && image->width && image->height &&
	             image->fetched.v >= 0;
	return sound ? OK : ERR_DAMAGED;
}

enum err image_of_url(struct view *view, struct account_id account, struct span url, struct image *image)
{
	struct row_key key = key_url(account, url);
	struct span    value;
	enum err       err = view_get(view, TABLE_IMAGE_URL, key_span(&key), &value);
	return err ? err : image_read(value, image);
}

enum err shapes_are_made(struct view *view, struct account_id account, struct span url, bool *made)
{
	struct image         image;
	struct shape_due     due;
	struct shape_verdict verdict;
	bool                 is_walked = false;
	*made = false;
	enum err err = image_of_url(view, account, url, &image);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	err = shape_due_get(view, account, image.hash, &due);
	if (err != ERR_NOT_FOUND) return err;
	err = shape_verdict_get(view, account, image.hash, &verdict);
	/* One of which nothing was made yet: a walk may still come by. */
	if (!err && !verdict.made && !verdict.fault) err = shapes_are_walked(view, account, &is_walked);
	*made = !is_walked;
	return err;
}

/* Makes the row of a URL refer to another image, or to none (NULL). */
static enum err move_bytes(struct view *view, struct account_id account, const struct row_key *key,
                           const uint8_t *hash)
{
	static const struct image_use_of bytes = {IMAGE_USE_BYTES, 0};

	struct image before;
	struct span  value;
	enum err     err = view_get(view, TABLE_IMAGE_URL, key_span(key), &value);
	bool         is_new = err == ERR_NOT_FOUND;
	if (!is_new && (err || (err = image_read(value, &before)))) return err;
	bool same = !is_new && hash && !memcmp(before.hash, hash, IMAGE_HASH_BYTES);
	err = hash && !same ? image_use_move(view, account, bytes, hash, 1) : OK;
	if (err || is_new || same) return err;
	return image_use_move(view, account, bytes, before.hash, -1);
}

/* A fetch may end after its last user has gone. */
static enum err leave_unused(struct view *view, struct account_id account, const struct row_key *key)
{
	const uint8_t *hash = key->bytes + key->size - IMAGE_HASH_BYTES;
	struct cleanup row = cleanup_of(account, CLEANUP_IMAGE_URL, span_of(hash, IMAGE_HASH_BYTES));
	uint32_t       count;
	enum err       err = image_use_count(view, account, IMAGE_USE_URL, hash, &count);
	return err || count ? err : cleanup_put(view, &row);
}

enum err image_url_put(struct view *view, struct account_id account, struct span url,
                       const struct image *image)
{
	struct row_key key = key_url(account, url);
	uint8_t        value[ROW_BYTES], *at = value + 1 + IMAGE_HASH_BYTES;
	enum err       err = move_bytes(view, account, &key, image->hash);
	if (err || (err = leave_unused(view, account, &key))) return err;
	value[0] = ROW_VERSION;
	memcpy(value + 1, image->hash, IMAGE_HASH_BYTES);
	put_le32(at, image->size);
	put_le32(at + 4, image->width);
	put_le32(at + 8, image->height);
	put_le64(at + 12, (uint64_t)image->fetched.v);
	return view_put(view, TABLE_IMAGE_URL, &key, span_of(value, sizeof value));
}

enum err image_part_put(struct view *view, struct account_id account, const uint8_t hash[IMAGE_HASH_BYTES],
                        unsigned part, struct span bytes)
{
	struct row_key key = key_part(account, hash, part);
	struct span    there;
	if (part >= IMAGE_PARTS_MAX || bytes.size == 0 || bytes.size > IMAGE_PART_BYTES) return ERR_TOO_LARGE;
	enum err err = view_get(view, TABLE_IMAGE, key_span(&key), &there);
	if (err && err != ERR_NOT_FOUND) return err;
	if (!err && span_equal(there, bytes)) return OK;
	return view_put(view, TABLE_IMAGE, &key, bytes);
}

enum err image_keep(struct view *view, struct account_id account, const uint8_t hash[IMAGE_HASH_BYTES],
                    wall_us until)
{
	struct cleanup row = cleanup_of(account, CLEANUP_IMAGE, span_of(hash, IMAGE_HASH_BYTES));
	row.from = until;
	return cleanup_put(view, &row);
}

enum err image_url_clean(struct view *view, struct cleanup *row, bool *done)
{
	struct row_key key = key_hash(row->account, row->subject);
	uint32_t       count;
	*done = true;
	if (row->subject_size != IMAGE_HASH_BYTES) return ERR_DAMAGED;
	enum err err = image_use_count(view, row->account, IMAGE_USE_URL, row->subject, &count);
	if (err || count) return err;
	if ((err = move_bytes(view, row->account, &key, NULL))) return err;
	return view_del(view, TABLE_IMAGE_URL, &key);
}

/* Missing parts are deleted like others. State: the first part that may exist, u8. */
enum err image_clean(struct view *view, struct cleanup *row, bool *done)
{
	unsigned part = row->state_size ? row->state[0] : 0, end = part + PARTS_A_STEP;
	uint32_t count;
	*done = true;
	if (row->subject_size != IMAGE_HASH_BYTES) return ERR_DAMAGED;
	enum err err = image_use_count(view, row->account, IMAGE_USE_BYTES, row->subject, &count);
	if (err || count) return err;
	for (; !err && part < end && part < IMAGE_PARTS_MAX; part++) {
		struct row_key key = key_part(row->account, row->subject, part);
		err = view_del(view, TABLE_IMAGE, &key);
	}
	*done = part >= IMAGE_PARTS_MAX;
	if (!err && *done) err = image_shapes_del(view, row->account, row->subject);
	row->state[0] = (uint8_t)part;
	row->state_size = 1;
	return err;
}

enum err image_bytes(struct view *view, struct account_id account, const struct image *image,
                     struct buffer *out)
{
	size_t  begin = out->size;
	uint8_t hash[SHA256_BYTES];
	for (unsigned part = 0; part < image_parts(image); part++) {
		struct row_key key = key_part(account, image->hash, part);
		struct span    bytes;
		enum err       err = view_get(view, TABLE_IMAGE, key_span(&key), &bytes);
		if (err) return err;
		buffer_append(out, bytes.at, bytes.size);
	}
	if (out->failed) return ERR_NO_MEMORY;
	if (out->size - begin != image->size) return ERR_NOT_FOUND;
	struct span whole = span_of(out->at + begin, image->size);
	sha256_of(&whole, 1, hash);
	return memcmp(hash, image->hash, sizeof hash) ? ERR_NOT_FOUND : OK;
}
