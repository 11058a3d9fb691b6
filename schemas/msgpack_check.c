/* Walks a peer's bytes once, with only a small stack, before the msgpack library may allocate for them. A container
 * is accepted only if at least one byte is left for each item it announces, so the library's allocations are bounded
 * by the bytes received. */
#include "schemas/msgpack_check.h"

enum { STACK_DEPTH = 32 }; /* the library's own limit */

enum shape {
	SHAPE_FIXED,   /* `width` bytes follow */
	SHAPE_BYTES,   /* a length of `width` bytes, then that many bytes */
	SHAPE_ARRAY,   /* a count of `width` bytes, then that many items */
	SHAPE_MAP,     /* a count of `width` bytes, then twice that many items */
	SHAPE_REFUSED, /* ext types and the one byte msgpack never uses */
};

/* By first byte, 0xc0 to 0xdf. */
static const struct {
	uint8_t shape, width;
} wide_forms[32] = {
    {SHAPE_FIXED, 0},   {SHAPE_REFUSED, 0}, {SHAPE_FIXED, 0},   {SHAPE_FIXED, 0},   /* nil, -, false, true */
    {SHAPE_BYTES, 1},   {SHAPE_BYTES, 2},   {SHAPE_BYTES, 4},                       /* bin */
    {SHAPE_REFUSED, 0}, {SHAPE_REFUSED, 0}, {SHAPE_REFUSED, 0},                     /* ext */
    {SHAPE_FIXED, 4},   {SHAPE_FIXED, 8},                                           /* float */
    {SHAPE_FIXED, 1},   {SHAPE_FIXED, 2},   {SHAPE_FIXED, 4},   {SHAPE_FIXED, 8},   /* uint */
    {SHAPE_FIXED, 1},   {SHAPE_FIXED, 2},   {SHAPE_FIXED, 4},   {SHAPE_FIXED, 8},   /* int */
    {SHAPE_REFUSED, 0}, {SHAPE_REFUSED, 0}, {SHAPE_REFUSED, 0}, {SHAPE_REFUSED, 0}, /* fixext */
    {SHAPE_REFUSED, 0},                                                             /* fixext */
    {SHAPE_BYTES, 1},   {SHAPE_BYTES, 2},   {SHAPE_BYTES, 4},                       /* str */
    {SHAPE_ARRAY, 2},   {SHAPE_ARRAY, 4},   {SHAPE_MAP, 2},     {SHAPE_MAP, 4},
};

/* Reads the big-endian number of `width` bytes that gives a length or a count. */
static bool take_number(struct span *left, unsigned width, uint64_t *number)
{
	if (left->size < width) return false;
	uint64_t value = 0;
	for (unsigned i = 0; i < width; i++)
		value = value << 8 | left->at[i];
	*left = span_of(left->at + width, left->size - width);
	*number = value;
	return true;
}

/* Steps over one item's own bytes; `*items` is the number of items in it. */
static bool take_item(struct span *left, uint64_t *items)
{
	uint64_t first, number = 0;
	if (!take_number(left, 1, &first)) return false;
	enum shape shape = SHAPE_FIXED;
	if (first >= 0xc0 && first <= 0xdf) {
		shape = wide_forms[first - 0xc0].shape;
		number = wide_forms[first - 0xc0].width;
		if (shape != SHAPE_FIXED && !take_number(left, (unsigned)number, &number)) return false;
	} else if (first >= 0x80 && first <= 0x8f) {
		shape = SHAPE_MAP;
		number = first & 0x0f;
	} else if (first >= 0x90 && first <= 0x9f) {
		shape = SHAPE_ARRAY;
		number = first & 0x0f;
	} else if (first >= 0xa0 && first <= 0xbf) {
		shape = SHAPE_BYTES;
		number = first & 0x1f;
	}
	*items = shape == SHAPE_MAP ? 2 * number : shape == SHAPE_ARRAY ? number : 0;
	if (shape == SHAPE_REFUSED || *items > left->size) return false;
	if (shape == SHAPE_MAP || shape == SHAPE_ARRAY) return true;
	if (number > left->size) return false;
	*left = span_of(left->at + number, left->size - number);
	return true;
}

enum err msgpack_check(struct span bytes, unsigned depth_max, size_t nodes_max)
{
	uint64_t open[STACK_DEPTH]; /* items left in each open container */
	unsigned depth = 0;
	must(depth_max <= STACK_DEPTH);
	for (size_t nodes = 0; nodes < nodes_max; nodes++) {
		uint64_t items;
		if (!take_item(&bytes, &items)) return ERR_MALFORMED;
		if (items > 0) {
			if (depth == depth_max) return ERR_MALFORMED;
			open[depth++] = items;
			continue;
		}
		while (depth > 0 && --open[depth - 1] == 0)
			depth--;
		if (depth == 0) return bytes.size == 0 ? OK : ERR_MALFORMED;
	}
	return ERR_MALFORMED;
}
