#pragma once
#include "schemas/wallet/shape.h"
#include "store/image.h"

/* Reference counts of images, so that unreferenced ones can be removed. IMAGE_USE row: account | what u8 | SHA-256,
 * 32 -> count u32, little-endian | roles u8, SHAPE_OF_… bits; an absent row reads as 0. A row without roles, of an older
 * program, may have them all. A URL is counted by each pass, deleted ones too, and each template that names it; its roles are
 * all that it was named for since the count was 0. An image is counted by each IMAGE_URL row that names it, and has no roles.
 * A count of 0 puts a CLEANUP row in the same commit. Rows are put and deleted, never patched. Errors: as view.h. */
enum image_use { IMAGE_USE_URL = 1, IMAGE_USE_BYTES = 2 };
enum {
	IMAGE_USES = 3
}; /* URLs that a pass or template names: logo, banner, and a template's icon; size 0: none */

/* The URLs in the text of an object `appearance`; size 0 for each it does not name. They live in `arena`. Errors:
 * ERR_DAMAGED, ERR_NO_MEMORY. */
must_check enum err image_urls_of(struct span appearance, struct arena *arena, struct span urls[IMAGE_USES]);

/* Stages the change of the URLs that one pass or template names. `before` or `after` may be NULL: none. */
must_check enum err image_urls_move(struct view *view, struct account_id account, const struct span *before,
                                    const struct span *after);
/* The same, given two texts of `appearance`. */
must_check enum err image_uses_move(struct view *view, struct account_id account, struct span before,
                                    struct span after);

/* Stages one reference more, or less, to a hash. `roles`: what a URL is named for. */
struct image_use_of {
	enum image_use what;
	unsigned       roles;
};
must_check enum err image_use_move(struct view *view, struct account_id account, struct image_use_of use,
                                   const uint8_t hash[IMAGE_HASH_BYTES], int by);
/* What a URL, by its hash, is named for. */
must_check enum err image_use_roles(struct view *view, struct account_id account,
                                    const uint8_t url[IMAGE_HASH_BYTES], unsigned *roles);
must_check enum err image_use_count(struct view *view, struct account_id account, enum image_use what,
                                    const uint8_t hash[IMAGE_HASH_BYTES], uint32_t *count);
/* A stored value. Errors: ERR_DAMAGED. */
must_check enum err image_use_read(struct span value, uint32_t *count, unsigned *roles);
