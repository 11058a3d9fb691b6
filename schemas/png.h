#pragma once
#include "schemas/span.h"

#include <stdbool.h>
#include <stdint.h>

/* Is this an image that a pass may show? A PNG that is all there: signature, an IHDR that libpng takes, pixel data, every
 * chunk whole with its sum, up to IEND. What the data mean is not looked at, so nothing is ever inflated. Units: pixels.
 * Errors: what is wrong, in words that go on from the name of the image ("logo: …"); NULL when nothing is. */
struct png_size {
	uint32_t width, height;
};
const char *png_fault(struct span bytes, struct png_size *size);
