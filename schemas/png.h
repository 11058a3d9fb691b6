#pragma once
#include "schemas/span.h"

#include <stdbool.h>
#include <stdint.h>

/* Checks an image for use on a pass: a complete PNG with signature, an IHDR that libpng accepts, pixel data, and
 * every chunk whole with its checksum, up to IEND. Pixel data are not decoded, so nothing is ever inflated. Units:
 * pixels. Errors: the fault, in words that follow the name of the image ("logo: …"); NULL if there is none. */
struct png_size {
	uint32_t width, height;
};
const char *png_fault(struct span bytes, struct png_size *size);
