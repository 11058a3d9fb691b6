#pragma once
#include "store/image.h"
#include "store/issuing.h"

/* Which image of a pass is not there, or was fetched too long before the pass began; image NULL: none. */
struct missing {
	const char *image,
	    *too_long; /* "logo", "banner" or "icon", and the error of one whose URL is too long; static */
	struct span url;
};

/* Errors: as view.h. */
must_check enum err images_missing(struct view *view, struct account_id account, const struct issuing *row,
                                   wall_us now, struct missing *missing);
