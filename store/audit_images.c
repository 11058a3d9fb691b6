/* The images of one account: every part has a possible size, and each URL's image is complete and has the stated
 * hash. An image of several URLs is read for each; that is rare. References to URLs and images are counted;
 * unreferenced ones must have a background removal. */
#include "store/auditor.h"

#include "schemas/bytes.h"
#include "schemas/json.h"
#include "schemas/sha256.h"

enum { PART_KEY = IMAGE_HASH_BYTES + 2, USE_REST = 1 + IMAGE_HASH_BYTES };

/* Sums of hashes, one term a reference: compared in place of lists, to save memory. */
static uint64_t sum_of(const uint8_t hash[IMAGE_HASH_BYTES])
{
	return get_le64(hash) | 1;
}

uint64_t audit_url_sum(struct span url)
{
	uint8_t hash[SHA256_BYTES];
	if (!url.size) return 0;
	sha256_of(&url, 1, hash);
	return sum_of(hash);
}

/* Is it referenced, or has it a background removal? */
static enum err judge_unused(struct auditor *auditor, enum image_use what, const uint8_t *hash)
{
	enum cleanup_kind kind = what == IMAGE_USE_URL ? CLEANUP_IMAGE_URL : CLEANUP_IMAGE;
	uint32_t          count;
	bool              left;
	enum err          err = image_use_count(auditor->reader, auditor->account, what, hash, &count);
	if (err && !audit_is_fault(err)) return err;
	if (err || count) return OK; /* a wrong count is reported below */
	err = audit_is_left(auditor, cleanup_of(auditor->account, kind, span_of(hash, IMAGE_HASH_BYTES)),
	                    &left);
	if (!err && !left)
		audit_fault(auditor, TABLE_IMAGE_USE, "%s %08x: nobody refers to it, and it stays",
		            what == IMAGE_USE_URL ? "the URL" : "the image", get_be32(hash));
	return err;
}

static enum err add_use(struct auditor *auditor, const struct audit_rows *rows)
{
	uint64_t *sums = rows->context; /* of URLs, of images */
	unsigned  what = rows->rest.size ? rows->rest.at[0] : 0, roles;
	bool      whole = rows->rest.size == USE_REST && (what == IMAGE_USE_URL || what == IMAGE_USE_BYTES);
	uint32_t  count;
	(void)auditor;
	if (!whole || image_use_read(rows->value, &count, &roles)) return ERR_MALFORMED;
	sums[what == IMAGE_USE_BYTES] += count * sum_of(rows->rest.at + 1);
	return OK;
}

static enum err audit_uses(struct auditor *auditor, uint64_t bytes_sum)
{
	uint64_t sums[2] = {0};
	enum err err = audit_each(auditor, TABLE_IMAGE_USE, add_use, sums);
	if (err) return err;
	if (sums[0] != auditor->url_sum)
		audit_fault(auditor, TABLE_IMAGE_USE, "other URLs than passes and templates name");
	if (sums[1] != bytes_sum) audit_fault(auditor, TABLE_IMAGE_USE, "other images than URLs show");
	return OK;
}

static enum err judge_part(struct auditor *auditor, const struct audit_whole *found)
{
	uint8_t *before = found->context; /* the hash of the image before */
	unsigned part = get_be16(found->key + IMAGE_HASH_BYTES);
	if (part >= IMAGE_PARTS_MAX)
		audit_fault(auditor, TABLE_IMAGE, "image %08x: part %u", found->number, part);
	if (found->value.size == 0 || found->value.size > IMAGE_PART_BYTES)
		audit_fault(auditor, TABLE_IMAGE, "image %08x: a part of %zu bytes", found->number,
		            found->value.size);
	if (!memcmp(before, found->key, IMAGE_HASH_BYTES)) return OK;
	memcpy(before, found->key, IMAGE_HASH_BYTES);
	return judge_unused(auditor, IMAGE_USE_BYTES, before);
}

static enum err judge_url(struct auditor *auditor, const struct audit_rows *rows)
{
	uint64_t    *sum = rows->context;
	struct image image;
	if (rows->rest.size != IMAGE_HASH_BYTES || image_read(rows->value, &image)) return ERR_MALFORMED;
	*sum += sum_of(image.hash);
	arena_reset(view_arena(auditor->reader)); /* of the previous image */
	buffer_clear(&auditor->whole);
	enum err err = judge_unused(auditor, IMAGE_USE_URL, rows->rest.at);
	if (err) return err;
	err = image_bytes(auditor->reader, auditor->account, &image, &auditor->whole);
	if (err == ERR_NO_MEMORY || err == ERR_IO) return err;
	if (err)
		audit_fault(auditor, TABLE_IMAGE_URL, "the image %08x is not there, or another",
		            get_be32(image.hash));
	return OK;
}

enum err audit_images(struct auditor *auditor)
{
	uint8_t  before[IMAGE_HASH_BYTES] = {0};
	uint64_t sum = 0;
	enum err err = audit_each_whole(auditor, TABLE_IMAGE, PART_KEY, judge_part, before);
	if (!err) err = audit_each(auditor, TABLE_IMAGE_URL, judge_url, &sum);
	return err ? err : audit_uses(auditor, sum);
}
