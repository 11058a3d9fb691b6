#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "schemas/limits.h"
#include "store/view.h"

/* Images that passes name by URL, kept by content: an account's passes may share one URL, and its URLs one image.
 * IMAGE holds the bytes under account | SHA-256 of them | part u16, big-endian, in parts of IMAGE_PART_BYTES but for the
 * last. IMAGE_URL says under account | SHA-256 of the URL as it was written what was found there last: version u8 (1) |
 * SHA-256, 32 | size u32 | width u32 | height u32 | fetched i64, little-endian. An IMAGE_URL row is only put when its
 * image is there, whole; parts that no row names may be left by a fetch that was cut off. What nobody refers to any more
 * goes in the background (image_use.h, cleanup.h).
 * Units: bytes, pixels, service time. Errors: as view.h. */
enum { IMAGE_HASH_BYTES = 32, IMAGE_PARTS_MAX = IMAGE_BYTES_MAX / IMAGE_PART_BYTES };

struct image {
	uint8_t  hash[IMAGE_HASH_BYTES]; /* SHA-256 of its bytes */
	uint32_t size;                   /* 1 to IMAGE_BYTES_MAX */
	uint32_t width, height;
	wall_us  fetched;
};

/* What lies, or last lay, at a URL. Errors: ERR_NOT_FOUND: it was never fetched. */
must_check enum err image_of_url(struct view *view, struct account_id account, struct span url,
                                 struct image *image);

/* Appends the bytes of an image, a PNG, to `out`. They are held against size and hash. Errors: ERR_NOT_FOUND (not all of
 * it is there, or it is not that image). */
must_check enum err image_bytes(struct view *view, struct account_id account, const struct image *image,
                                struct buffer *out);

/* Stages a part, unless it is there already. Errors: ERR_TOO_LARGE (no such part, or not of its size). */
must_check enum err image_part_put(struct view *view, struct account_id account,
                                   const uint8_t hash[IMAGE_HASH_BYTES], unsigned part, struct span bytes);

/* Stages that the parts of an image are kept until then, whether or not anything names it: a fetch is under way. */
must_check enum err image_keep(struct view *view, struct account_id account,
                               const uint8_t hash[IMAGE_HASH_BYTES], wall_us until);

/* Stages what lies at a URL; the bytes are there (image_bytes() has said so). */
must_check enum err image_url_put(struct view *view, struct account_id account, struct span url,
                                  const struct image *image);

/* One step of a removal: stages what goes of the image at a URL, or of an image, which nobody refers to. What is referred to
 * again stays. *done: nothing is left, and the row of CLEANUP goes as well. Point reads. */
struct cleanup;
must_check enum err image_url_clean(struct view *view, struct cleanup *row, bool *done);
must_check enum err image_clean(struct view *view, struct cleanup *row, bool *done);

/* The value of an IMAGE_URL row. Errors: ERR_DAMAGED. */
must_check enum err image_read(struct span value, struct image *image);

unsigned image_parts(const struct image *image);
