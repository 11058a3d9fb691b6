#pragma once
#include "schemas/span.h"

/* The bytes of a modelled file. Zeroed means empty. Units: bytes. Errors: none; failures abort. */
struct image {
	uint8_t *at;
	uint64_t size, capacity;
};

/* Writes at an offset; a gap becomes zeros. `bytes` may be NULL for zeros. */
void image_write(struct image *image, uint64_t at, const uint8_t *bytes, uint64_t size);
void image_resize(struct image *image, uint64_t size);
void image_copy(struct image *to, const struct image *from);
void image_free(struct image *image);

/* Creates the file, with holes for zeros. */
void image_save(const struct image *image, const char *path);
