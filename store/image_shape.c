/* Rows of the tables IMAGE_SHAPE and SHAPE_DUE. */
#include "store/image_shape.h"

#include "schemas/bytes.h"
#include "store/keys.h"

enum {
	VERDICT = 0,
	VERDICT_VERSION = 1,
	VERDICT_BYTES = 4,
	DUE_BYTES = 6,
	WALK_BYTES = sizeof(struct account_id) + IMAGE_HASH_BYTES
};
enum { SHAPES_ALL = (SHAPE_BIT(SHAPE_END) - 1) - 1 }; /* shape 0 is none */

static struct row_key key_image(struct account_id account, const uint8_t image[IMAGE_HASH_BYTES])
{
	struct row_key key = key_account(account);
	memcpy(key.bytes + key.size, image, IMAGE_HASH_BYTES);
	key.size += IMAGE_HASH_BYTES;
	return key;
}

static struct row_key key_shape(struct account_id account, const uint8_t image[IMAGE_HASH_BYTES],
                                unsigned shape)
{
	struct row_key key = key_image(account, image);
	key.bytes[key.size++] = (uint8_t)shape;
	return key;
}

/* Shapes -------------------------------------------------------------------------------------------------- */

enum err image_shape_get(struct view *view, struct account_id account, const uint8_t image[IMAGE_HASH_BYTES],
                         enum shape shape, struct span *png)
{
	struct row_key key = key_shape(account, image, shape);
	return view_get(view, TABLE_IMAGE_SHAPE, key_span(&key), png);
}

enum err image_shape_put(struct view *view, struct account_id account, const uint8_t image[IMAGE_HASH_BYTES],
                         enum shape shape, struct span png)
{
	struct row_key key = key_shape(account, image, shape);
	if (png.size == 0 || png.size > SHAPE_BYTES_MAX) return ERR_TOO_LARGE;
	return view_put(view, TABLE_IMAGE_SHAPE, &key, png);
}

enum err shape_verdict_read(struct span value, struct shape_verdict *verdict)
{
	*verdict = (struct shape_verdict){SHAPE_GOOD, 0};
	if (value.size != VERDICT_BYTES || value.at[0] != VERDICT_VERSION) return ERR_DAMAGED;
	verdict->fault = (enum shape_fault)value.at[1];
	verdict->made = get_le16(value.at + 2);
	bool sound = value.at[1] < SHAPE_FAULTS && verdict->made && !(verdict->made & ~(unsigned)SHAPES_ALL);
	return sound ? OK : ERR_DAMAGED;
}

enum err shape_verdict_get(struct view *view, struct account_id account,
                           const uint8_t image[IMAGE_HASH_BYTES], struct shape_verdict *verdict)
{
	struct row_key key = key_shape(account, image, VERDICT);
	struct span    value;
	enum err       err = view_get(view, TABLE_IMAGE_SHAPE, key_span(&key), &value);
	*verdict = (struct shape_verdict){SHAPE_GOOD, 0};
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	return shape_verdict_read(value, verdict);
}

static enum err put_verdict(struct view *view, struct account_id account,
                            const uint8_t image[IMAGE_HASH_BYTES], const struct shape_verdict *verdict)
{
	struct row_key key = key_shape(account, image, VERDICT);
	uint8_t        value[VERDICT_BYTES] = {VERDICT_VERSION, (uint8_t)verdict->fault};
	put_le16(value + 2, (uint16_t)verdict->made);
	return view_put(view, TABLE_IMAGE_SHAPE, &key, span_of(value, sizeof value));
}

/* Due ----------------------------------------------------------------------------------------------------- */

/* In the key of a walk. */
static const uint8_t no_image[IMAGE_HASH_BYTES];

static struct row_key key_due(const struct shape_due *due)
{
	return key_image(due->account, due->is_walk ? no_image : due->hash);
}

enum err shape_due_read(struct span key, struct span value, struct shape_due *due)
{
	const size_t head = sizeof due->account;
	*due = (struct shape_due){.is_walk = value.size == WALK_BYTES};
	if (key.size != head + IMAGE_HASH_BYTES) return ERR_DAMAGED;
	if (!due->is_walk && value.size != DUE_BYTES) return ERR_DAMAGED;
	memcpy(due->account.b, key.at, head);
	memcpy(due->hash, due->is_walk ? value.at + head : key.at + head, IMAGE_HASH_BYTES);
	if (due->is_walk) {
		memcpy(due->at.b, value.at, head);
		return memcmp(key.at + head, no_image, sizeof no_image) ? ERR_DAMAGED : OK;
	}
	due->wanted = get_le16(value.at);
	due->size = get_le32(value.at + 2);
	bool sound = due->wanted && !(due->wanted & ~(unsigned)SHAPES_ALL) && due->size &&
	             due->size <= IMAGE_BYTES_MAX;
	return sound ? OK : ERR_DAMAGED;
}

enum err shape_due_get(struct view *view, struct account_id account, const uint8_t image[IMAGE_HASH_BYTES],
                       struct shape_due *due)
{
	struct row_key key = key_image(account, image);
	struct span    value;
	enum err       err = view_get(view, TABLE_SHAPE_DUE, key_span(&key), &value);
	return err ? err : shape_due_read(key_span(&key), value, due);
}

enum err shapes_are_walked(struct view *view, struct account_id account, bool *walked)
{
	static const struct account_id all;
	struct shape_due               row;
	enum err                       err = shape_due_get(view, account, no_image, &row);
	if (err == ERR_NOT_FOUND) err = shape_due_get(view, all, no_image, &row);
	*walked = !err;
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err shapes_are_due(struct view *view, struct account_id account, bool *due)
{
	struct row_key  key = key_account(account);
	struct view_row row;
	enum err        err = view_from(view, TABLE_SHAPE_DUE, key_span(&key), &row);
	*due = !err && key_has_prefix(row.key, key_span(&key));
	if (err && err != ERR_NOT_FOUND) return err;
	return *due ? OK : shapes_are_walked(view, account, due);
}

enum err shape_due_put(struct view *view, const struct shape_due *due)
{
	struct row_key key = key_due(due);
	struct row_key at = key_image(due->at, due->hash);
	uint8_t        value[DUE_BYTES];
	if (due->is_walk) return view_put(view, TABLE_SHAPE_DUE, &key, key_span(&at));
	put_le16(value, (uint16_t)due->wanted);
	put_le32(value + 2, due->size);
	return view_put(view, TABLE_SHAPE_DUE, &key, span_of(value, sizeof value));
}

enum err shape_due_del(struct view *view, const struct shape_due *due)
{
	struct row_key key = key_due(due);
	return view_del(view, TABLE_SHAPE_DUE, &key);
}

enum err shapes_want(struct view *view, struct account_id account, const struct image *image, unsigned roles)
{
	struct shape_due     due = {.wanted = 0};
	struct shape_verdict verdict;
	unsigned             wanted = shapes_of_roles(roles);
	enum err             err = shape_verdict_get(view, account, image->hash, &verdict);
	if (err || !(wanted &= ~verdict.made)) return err;
	err = shape_due_get(view, account, image->hash, &due);
	if (err && err != ERR_NOT_FOUND) return err;
	if (!err && (due.wanted & wanted) == wanted) return OK;
	wanted |= due.wanted;
	due = (struct shape_due){.account = account, .wanted = wanted, .size = image->size};
	memcpy(due.hash, image->hash, sizeof due.hash);
	return shape_due_put(view, &due);
}

enum err shapes_want_all(struct view *view, struct account_id account)
{
	const struct shape_due walk = {.account = account, .is_walk = true, .at = account};
	return shape_due_put(view, &walk);
}

enum err shapes_end(struct view *view, struct account_id account, const uint8_t image[IMAGE_HASH_BYTES],
                    const struct shape_verdict *verdict)
{
	struct row_key       key = key_image(account, image);
	struct shape_verdict whole;
	struct shape_due     due;
	enum err             err = shape_due_get(view, account, image, &due);
	if (!err) err = shape_verdict_get(view, account, image, &whole);
	if (err) return err;
	whole.made |= verdict->made;
	if (verdict->fault) whole.fault = verdict->fault;
	if ((err = put_verdict(view, account, image, &whole))) return err;
	due.wanted &= ~whole.made;
	return due.wanted ? shape_due_put(view, &due) : view_del(view, TABLE_SHAPE_DUE, &key);
}

enum err shape_due_after(struct view *view, const struct shape_due *after, struct shape_due *due)
{
	struct row_key  key = {.size = 1}; /* before every account */
	struct view_row row;
	if (after) {
		key = key_due(after);
		key.bytes[key.size++] = 0;
	}
	enum err err = view_from(view, TABLE_SHAPE_DUE, key_span(&key), &row);
	return err ? err : shape_due_read(row.key, row.value, due);
}

/* Removal ------------------------------------------------------------------------------------------------- */

/* What does not exist is deleted like the rest. */
enum err image_shapes_del(struct view *view, struct account_id account, const uint8_t image[IMAGE_HASH_BYTES])
{
	struct row_key due = key_image(account, image);
	enum err       err = view_del(view, TABLE_SHAPE_DUE, &due);
	for (unsigned i = 0; !err && i < SHAPE_END; i++) {
		struct row_key key = key_shape(account, image, i);
		err = view_del(view, TABLE_IMAGE_SHAPE, &key);
	}
	return err;
}
