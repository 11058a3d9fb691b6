#pragma once
#include "schemas/fields.h"

/* The arguments of the messages about images: see fields.h. */
#define FIELDS_IMAGE_PUT(F)                                        \
	F(IMAGE_PUT, hash, SELF, BYTES, REQUIRED, 32, 32)          \
	F(IMAGE_PUT, part, SELF, INTEGER, REQUIRED, 0, UINT16_MAX) \
	F(IMAGE_PUT, bytes, SELF, BYTES, REQUIRED, 1, IMAGE_PART_BYTES)
#define FIELDS_IMAGE_NAME(F)                                             \
	F(IMAGE_NAME, url, SELF, STRING, REQUIRED, 1, URL_BYTES_MAX)     \
	F(IMAGE_NAME, hash, SELF, BYTES, REQUIRED, 32, 32)               \
	F(IMAGE_NAME, size, SELF, INTEGER, REQUIRED, 1, IMAGE_BYTES_MAX) \
	F(IMAGE_NAME, width, SELF, INTEGER, REQUIRED, 1, IMAGE_SIDE_MAX) \
	F(IMAGE_NAME, height, SELF, INTEGER, REQUIRED, 1, IMAGE_SIDE_MAX)
#define FIELDS_FETCH(F) F(FETCH, url, SELF, STRING, REQUIRED, 1, URL_BYTES_MAX)

enum { FIELDS_IMAGE_PUT(FIELD_AS_ARGUMENT) ARGS_IMAGE_PUT };
enum { FIELDS_IMAGE_NAME(FIELD_AS_ARGUMENT) ARGS_IMAGE_NAME };
enum { FIELDS_FETCH(FIELD_AS_ARGUMENT) ARGS_FETCH };
