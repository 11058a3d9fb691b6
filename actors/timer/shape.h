#pragma once
#include "schemas/buffer.h"
#include "schemas/wallet/shape.h"

/* Reduces one PNG to the shapes that a wallet's package holds. Pure: bytes in, bytes out. The image is read once, row by row,
 * into an area filter for each shape: each pixel of the result is the average of the area that it covers, weighted by alpha,
 * rounded. So the largest image (IMAGE_SIDE_MAX squared) needs about 4 MiB; only an interlaced one is held as a whole, hence
 * its limit. Chunks without pixels are skipped unread.
 * Takes up to a second of processor time for the largest image and every shape. */

/* Makes the shapes `wanted` (SHAPE_BITs): out[shape] is cleared, then gets the PNG. A strip larger than SHAPE_STRIP_BYTES is
 * made smaller. *fault: why there is none. Errors: ERR_NO_MEMORY; with a fault OK. */
must_check enum err shapes_make(struct span png, unsigned wanted, struct buffer out[SHAPE_END],
                                enum shape_fault *fault);
