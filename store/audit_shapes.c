/* The shapes of one account's images: each is of an image that exists or is about to be removed, and is reported by its verdict
 * or still wanted. Shapes that are wanted are of images likewise. */
#include "store/auditor.h"

#include "schemas/bytes.h"
#include "store/image_shape.h"

enum { SHAPE_KEY = IMAGE_HASH_BYTES + 1, PART = 2 };

static enum err has_image(struct auditor *auditor, const uint8_t *hash, bool *has)
{
	struct row_key key = key_account(auditor->account);
	memcpy(key.bytes + key.size, hash, IMAGE_HASH_BYTES);
	memset(key.bytes + key.size + IMAGE_HASH_BYTES, 0, PART);
	key.size += IMAGE_HASH_BYTES + PART;
	enum err err = view_exists(auditor->reader, TABLE_IMAGE, key_span(&key));
	*has = !err;
	if (!err) return OK;
	if (!audit_is_fault(err)) return err;
	return audit_is_left(
	    auditor, cleanup_of(auditor->account, CLEANUP_IMAGE, span_of(hash, IMAGE_HASH_BYTES)), has);
}

/* The image of a row in `table` must exist. */
static enum err judge_image(struct auditor *auditor, enum table table, const uint8_t *hash)
{
	bool     has;
	enum err err = has_image(auditor, hash, &has);
	if (!err && !has) audit_fault(auditor, table, "image %08x does not exist", get_be32(hash));
	return err;
}

/* What is known of the image whose rows are being read. Its verdict comes first: lookups in the same table would move the place
 * of the iteration. */
struct known {
	uint8_t  image[IMAGE_HASH_BYTES];
	unsigned shapes; /* made, or to be made */
};

static enum err know(struct auditor *auditor, const uint8_t *hash, struct known *known)
{
	struct shape_due due = {.wanted = 0};
	memcpy(known->image, hash, sizeof known->image);
	enum err err = shape_due_get(auditor->reader, auditor->account, hash, &due);
	known->shapes = err ? 0 : due.wanted; /* a wrong form is reported where the row is met */
	if (err && !audit_is_fault(err)) return err;
	return judge_image(auditor, TABLE_IMAGE_SHAPE, hash);
}

static enum err judge_shape(struct auditor *auditor, const struct audit_whole *found)
{
	struct known        *known = found->context;
	struct shape_verdict verdict;
	unsigned             shape = found->key[IMAGE_HASH_BYTES];
	uint32_t             image = get_be32(found->key);
	bool                 is_new = memcmp(known->image, found->key, sizeof known->image);
	enum err             err = is_new ? know(auditor, found->key, known) : OK;
	if (err) return err;
	if (shape == 0 && shape_verdict_read(found->value, &verdict))
		audit_fault(auditor, TABLE_IMAGE_SHAPE, "image %08x: a verdict of a wrong form", image);
	else if (shape == 0)
		known->shapes |= verdict.made;
	else if (shape >= SHAPE_END || !(known->shapes & SHAPE_BIT(shape)))
		audit_fault(auditor, TABLE_IMAGE_SHAPE, "image %08x: nobody wanted the shape %u", image,
		            shape);
	else if (found->value.size == 0 || found->value.size > SHAPE_BYTES_MAX)
		audit_fault(auditor, TABLE_IMAGE_SHAPE, "image %08x: a shape of %zu bytes", image,
		            found->value.size);
	return OK;
}

static enum err judge_due(struct auditor *auditor, const struct audit_rows *rows)
{
	struct row_key key = key_account(auditor->account);
	size_t         size = rows->rest.size < IMAGE_HASH_BYTES + 1 ? rows->rest.size : IMAGE_HASH_BYTES + 1;
	struct shape_due due;
	memcpy(key.bytes + key.size, rows->rest.at, size);
	key.size += size;
	if (shape_due_read(key_span(&key), rows->value, &due)) return ERR_MALFORMED;
	return due.is_walk ? OK : judge_image(auditor, TABLE_SHAPE_DUE, due.hash);
}

enum err audit_shapes(struct auditor *auditor)
{
	struct known known = {.shapes = 0};
	enum err     err = audit_each_whole(auditor, TABLE_IMAGE_SHAPE, SHAPE_KEY, judge_shape, &known);
	return err ? err : audit_each(auditor, TABLE_SHAPE_DUE, judge_due, NULL);
}
