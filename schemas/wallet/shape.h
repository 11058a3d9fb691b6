#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The shapes of a picture in a wallet's package, by number: see shape.def. A set of shapes has the bit SHAPE_BIT(number)
 * of each. Units: pixels, bytes. Errors: none. */
enum shape {
#define S(number, NAME, file, role, width, height, how) SHAPE_##NAME = number,
#include "schemas/wallet/shape.def"
#undef S
	SHAPE_END
};
#define SHAPE_BIT(shape) (1u << (shape))

enum {
	SHAPE_BYTES_MAX = 640 << 10, /* of a PNG: 562 x 216 pixels of noise fit */
	/* a larger strip is made again at three quarters of its width: phones fetch it with every change */
	SHAPE_STRIP_BYTES = 150 << 10,
	SHAPE_INTERLACED_PIXELS_MAX =
	    1 << 20, /* of an interlaced image, which needs all rows in memory; left out */
};

/* Between shard and timer: SHAPE_NEXT. */
enum { SHAPE_AFTER_BYTES = 10 + 32, SHAPE_NEXT_ITEMS = 4 };

/* What a picture is used as; bits of a set. */
enum shape_role { SHAPE_OF_LOGO = 1, SHAPE_OF_BANNER = 2, SHAPE_OF_ICON = 4, SHAPE_ROLES_ALL = 7 };

enum shape_how { SHAPE_FIT, SHAPE_PAD, SHAPE_FILL };

struct shape_form {
	const char    *file; /* in the package */
	uint32_t       width, height;
	enum shape_how how;
};

/* 0 < shape < SHAPE_END. */
const struct shape_form *shape_of(enum shape shape);
/* The shapes of an image that is used in these roles. */
unsigned shapes_of_roles(unsigned roles);

/* Why an image has no shapes; on disk. */
enum shape_fault { SHAPE_GOOD = 0, SHAPE_DAMAGED = 1, SHAPE_INTERLACED = 2, SHAPE_FAULTS };
/* In words that follow the name of the image ("logo: …"); NULL: none. */
const char *shape_fault_text(enum shape_fault fault);
