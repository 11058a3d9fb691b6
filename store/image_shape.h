#pragma once
#include "schemas/wallet/shape.h"
#include "store/image.h"

/* Shapes of images for wallets, by content like the images themselves. They are made by the timer, of images of accounts that
 * have a wallet, and are removed with the image.
 *   IMAGE_SHAPE  account | SHA-256 of the image | shape u8 -> the PNG. Shape 0 is the verdict: version u8 (1) | fault u8 |
 *                made u16: the shapes that were made, or, with a fault, that need not be tried again
 *   SHAPE_DUE    account | SHA-256 of the image -> wanted u16 | size u32: shapes still to be made; exists only while the
 *                image does. account | 32 zero bytes -> account | SHA-256 of a URL: a walk. The account's images from this URL on
 *                are still to be looked at, because a wallet was switched on; of the nil account: those of all accounts
 * Numbers little-endian. Rows are put and deleted, never patched. Errors: as view.h. */
struct shape_verdict {
	enum shape_fault fault;
	unsigned         made; /* SHAPE_BITs */
};

struct shape_due {
	struct account_id account;
	bool              is_walk; /* from the URL with this hash of the account `at` on; the rest is 0 */
	struct account_id at;
	uint8_t           hash[IMAGE_HASH_BYTES];
	unsigned          wanted; /* SHAPE_BITs */
	uint32_t          size;   /* of the image */
};

/* The PNG of a shape; it lives as long as the view's values. Errors: ERR_NOT_FOUND. */
must_check enum err image_shape_get(struct view *view, struct account_id account,
                                    const uint8_t image[IMAGE_HASH_BYTES], enum shape shape,
                                    struct span *png);
must_check enum err image_shape_put(struct view *view, struct account_id account,
                                    const uint8_t image[IMAGE_HASH_BYTES], enum shape shape, struct span png);

/* What became of an image; all zero: nothing yet. */
must_check enum err shape_verdict_get(struct view *view, struct account_id account,
                                      const uint8_t image[IMAGE_HASH_BYTES], struct shape_verdict *verdict);

/* Stages that the image's shapes for these roles (SHAPE_OF_…) be made, unless they have been. */
must_check enum err shapes_want(struct view *view, struct account_id account, const struct image *image,
                                unsigned roles);
/* Stages that all images of the account be looked at for shapes, from the beginning; of the nil account: those of all accounts
 * whose Apple wallet is on. */
must_check enum err shapes_want_all(struct view *view, struct account_id account);

/* Stages the end of `made`, with its fault; the due row goes when nothing else is wanted. Errors: ERR_NOT_FOUND (none is
 * wanted of that image). */
must_check enum err shapes_end(struct view *view, struct account_id account,
                               const uint8_t image[IMAGE_HASH_BYTES], const struct shape_verdict *verdict);

/* Does a walk go through the account's images? Point reads. */
must_check enum err shapes_are_walked(struct view *view, struct account_id account, bool *walked);
/* Are shapes of any image of the account still wanted? A range read. */
must_check enum err shapes_are_due(struct view *view, struct account_id account, bool *due);
/* Are shapes of this image still wanted? Errors: ERR_NOT_FOUND: no. */
must_check enum err shape_due_get(struct view *view, struct account_id account,
                                  const uint8_t image[IMAGE_HASH_BYTES], struct shape_due *due);
/* The first row after `after` (NULL: of all), in any account. A range read. Errors: ERR_NOT_FOUND. */
must_check enum err shape_due_after(struct view *view, const struct shape_due *after, struct shape_due *due);
/* Stages the row; its removal. For what is wanted, shapes_want() and shapes_end(). */
must_check enum err shape_due_put(struct view *view, const struct shape_due *due);
must_check enum err shape_due_del(struct view *view, const struct shape_due *due);
/* One step of a walk row that was found: wants the shapes of the next images, and moves or ends the walk. A range read, before
 * the command's first write. */
must_check enum err shapes_walk(struct view *view, const struct shape_due *walk);

/* Stages the removal of an image's shapes. At most SHAPE_END + 1 writes. */
must_check enum err image_shapes_del(struct view *view, struct account_id account,
                                     const uint8_t image[IMAGE_HASH_BYTES]);

/* Stored rows. Errors: ERR_DAMAGED. */
must_check enum err shape_verdict_read(struct span value, struct shape_verdict *verdict);
must_check enum err shape_due_read(struct span key, struct span value, struct shape_due *due);
