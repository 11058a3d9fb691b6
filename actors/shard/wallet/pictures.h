#pragma once
#include "actors/shard/command.h"
#include "schemas/wallet/shape.h"

/* The pictures of a pass in a wallet's package. Errors: as view.h. */

/* Does an Apple wallet work for the account, so that its images are reduced? Point reads. */
must_check enum err pictures_are_wanted(struct request *request, bool *wanted);

/* Where the pictures lie; size 0: none. */
struct picture_urls {
	struct span logo, banner, icon;
};

/* Files of a package; the PNGs live as long as the view's values. */
enum { PICTURES_MAX = 3 + 3 + 1 };
struct pictures {
	unsigned count;
	struct {
		const char *file; /* static */
		struct span png;
	} of[PICTURES_MAX];
};

/* The files of a package, in their order: the icon in three densities (of `icon`, else the logo, else our own), the logo in
 * three, the strip. `strip`: which shape of the banner the style has; 0: it has none. A picture whose shapes are not made, or
 * cannot be, is left out. */
must_check enum err pictures_of(struct view *view, struct account_id account, const struct picture_urls *urls,
                                enum shape strip, struct pictures *pictures);

/* Why a picture has no shapes: the image was never fetched, was not reduced yet, or cannot be; NULL: it has them. */
must_check enum err picture_fault(struct view *view, struct account_id account, struct span url,
                                  const char **fault);
