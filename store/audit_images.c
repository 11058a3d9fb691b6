/* The images of one account: every part has a size that one may have, and what a URL is said to show is there, whole, with
 * the hash that it goes by. Several URLs may show one image, which is then read for each; that is rare. Parts that no URL
 * names are left by fetches that were cut off. */
#include "store/auditor.h"

#include "schemas/bytes.h"
#include "store/image.h"

enum { PART_KEY = IMAGE_HASH_BYTES + 2 };

static enum err audit_parts(struct auditor *auditor)
{
	struct audit_rows  rows = {.table = TABLE_IMAGE, .key_size = PART_KEY};
	struct audit_whole found;
	enum err           err;
	while (!(err = audit_whole(auditor, &rows, &found))) {
		if (!found.whole) continue;
		unsigned part = get_be16(found.key + IMAGE_HASH_BYTES);
		if (part >= IMAGE_PARTS_MAX)
			audit_fault(auditor, TABLE_IMAGE, "image %08x: part %u", found.number, part);
		if (found.value.size == 0 || found.value.size > IMAGE_PART_BYTES)
			audit_fault(auditor, TABLE_IMAGE, "image %08x: a part of %zu bytes", found.number,
			            found.value.size);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err judge_url(struct auditor *auditor, const struct audit_rows *rows)
{
	struct image image;
	if (rows->rest.size != IMAGE_HASH_BYTES || image_read(rows->value, &image)) {
		audit_fault(auditor, TABLE_IMAGE_URL, "a row of a wrong form");
		return OK;
	}
	arena_reset(view_arena(auditor->reader)); /* of the image before */
	buffer_clear(&auditor->whole);
	enum err err = image_bytes(auditor->reader, auditor->account, &image, &auditor->whole);
	if (err == ERR_NO_MEMORY || err == ERR_IO) return err;
	if (err)
		audit_fault(auditor, TABLE_IMAGE_URL, "the image %08x is not there, or another",
		            get_be32(image.hash));
	return OK;
}

enum err audit_images(struct auditor *auditor)
{
	struct audit_rows rows = {.table = TABLE_IMAGE_URL};
	enum err          err = audit_parts(auditor);
	while (!err && !(err = audit_row(auditor, &rows)))
		err = judge_url(auditor, &rows);
	return err == ERR_NOT_FOUND ? OK : err;
}
