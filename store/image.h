#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/limits.h"
#include "store/view.h"

/* Images that passes name by URL, stored by content: passes of an account may share a URL, and URLs an image. IMAGE
 * holds the bytes under account | SHA-256 of the bytes | part u16, big-endian, in parts of IMAGE_PART_BYTES except the
 * last. IMAGE_URL, under account | SHA-256 of the URL as written, names the image fetched last: version u8 (1) |
 * SHA-256, 32 | size u32 | width u32 | height u32 | fetched i64, little-endian. An IMAGE_URL row is put only once its
 * image is complete. An interrupted fetch may leave parts that no row names. Unreferenced rows are removed in the
 * background (image_use.h, cleanup.h).
 * Units: bytes, pixels, service time. Errors: as view.h. */
enum { IMAGE_HASH_BYTES = 32, IMAGE_PARTS_MAX = IMAGE_BYTES_MAX / IMAGE_PART_BYTES };

struct image {
	uint8_t  hash[IMAGE_HASH_BYTES]; /* SHA-256 of its bytes */
	uint32_t size;                   /* 1 to IMAGE_BYTES_MAX */
	uint32_t width, height;
	wall_us  fetched;
};

/* The image fetched last from a URL. Errors: ERR_NOT_FOUND: it was never fetched. */
must_check enum err image_of_url(struct view *view, struct account_id account, struct span url,
                                 struct image *image);

/* Is the image of this URL there, none of its shapes wanted any more, and none to be wanted by a walk? */
must_check enum err shapes_are_made(struct view *view, struct account_id account, struct span url,
                                    bool *made);

/* Appends an image's bytes, a PNG, to `out`, and verifies size and hash. Errors: ERR_NOT_FOUND (incomplete, or not
 * that image). */
must_check enum err image_bytes(struct view *view, struct account_id account, const struct image *image,
                                struct buffer *out);

/* Stages a part unless it exists. Errors: ERR_TOO_LARGE (no such part, or of the wrong size). */
must_check enum err image_part_put(struct view *view, struct account_id account,
                                   const uint8_t hash[IMAGE_HASH_BYTES], unsigned part, struct span bytes);

/* Stages that an image's parts are kept until then without a reference: a fetch is under way. */
must_check enum err image_keep(struct view *view, struct account_id account,
                               const uint8_t hash[IMAGE_HASH_BYTES], wall_us until);

/* Stages the image of a URL. Its bytes must be stored, as image_bytes() verifies. */
must_check enum err image_url_put(struct view *view, struct account_id account, struct span url,
                                  const struct image *image);

/* One step of removing the unreferenced image row of a URL, or an unreferenced image. One that is referenced again
 * stays. *done: nothing is left, and the CLEANUP row is removed too. Point reads. */
struct cleanup;
must_check enum err image_url_clean(struct view *view, struct cleanup *row, bool *done);
must_check enum err image_clean(struct view *view, struct cleanup *row, bool *done);

/* The value of an IMAGE_URL row. Errors: ERR_DAMAGED. */
must_check enum err image_read(struct span value, struct image *image);

unsigned image_parts(const struct image *image);
