/* Pictures of any kind, small ones, reduced for wallets: pixels that inflate rightly, by way of a head and rows that the input
 * gives, or any bytes behind a head. Shapes are usable PNGs within their boxes; a fault leaves none; the shapes of one call do
 * not depend on which others are wanted. */
#include "tests/fuzz/fuzz.h"

#include "actors/timer/shape.h"
#include "schemas/png.h"
#include "tests/fuzz/png_chunks.h"

#include <zlib.h>

enum { SIDE = 96, PIXELS_BYTES = 1 << 17 };

static struct buffer file, shapes[SHAPE_END], alone[SHAPE_END];

static void put_head(struct supply *supply)
{
	static const uint8_t kinds[][2] = {{0, 1},  {0, 2},  {0, 4}, {0, 8}, {0, 16}, {2, 8},
	                                   {2, 16}, {3, 1},  {3, 2}, {3, 4}, {3, 8},  {4, 16},
	                                   {4, 8},  {6, 16}, {6, 8}, {5, 8}};
	const uint8_t       *kind = kinds[supply_byte(supply) % (sizeof kinds / sizeof *kinds)];
	uint8_t              head[13] = {0};
	head[3] = supply_byte(supply) % SIDE;
	head[7] = supply_byte(supply) % SIDE;
	head[8] = kind[1];
	head[9] = kind[0];
	head[12] = supply_byte(supply) & 1;
	png_put_chunk(&file, "IHDR", span_of(head, sizeof head));
	if (kind[0] == 3) png_put_chunk(&file, "PLTE", span_of("\1\2\3\4\5\6\7\x8\x9\xa\xb\xc", 12));
	if (supply_byte(supply) & 1) png_put_chunk(&file, "tRNS", supply_bytes(supply, supply_byte(supply)));
}

/* Rows that repeat the input, without end for an image of SIDE. */
static void put_pixels(struct supply *supply)
{
	static uint8_t raw[PIXELS_BYTES], packed[PIXELS_BYTES + 4096];
	uLongf         size = sizeof packed;
	struct span    seed = supply_bytes(supply, supply_byte(supply));
	unsigned       pace = supply_byte(supply);
	for (size_t i = 0; i < sizeof raw; i++)
		raw[i] = seed.size ? seed.at[i % seed.size] : (uint8_t)(i * pace >> 3);
	for (size_t i = 0; i < sizeof raw; i += pace + 1)
		raw[i] &= 3; /* filters of rows, now and then */
	must(compress2(packed, &size, raw, sizeof raw, 1) == Z_OK);
	if (supply_byte(supply) & 1) packed[size / 2] ^= supply_byte(supply);
	png_put_chunk(&file, "IDAT", span_of(packed, size));
}

static void check(enum shape shape, const struct buffer *png)
{
	struct png_size size;
	must(!png_fault(buffer_span(png), &size));
	must(size.width <= shape_of(shape)->width && size.height <= shape_of(shape)->height);
	must(png->size <= SHAPE_BYTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct supply    supply = {span_of(bytes, size)};
	enum shape_fault fault, again;
	buffer_clear(&file);
	png_put_signature(&file);
	put_head(&supply);
	enum shape one = (enum shape)(1 + supply_byte(&supply) % (SHAPE_END - 1));
	if (supply_byte(&supply) & 3)
		put_pixels(&supply);
	else
		png_put_chunk(&file, "IDAT", supply.left);
	png_put_chunk(&file, "IEND", span_of(NULL, 0));
	must(!shapes_make(buffer_span(&file), shapes_of_roles(SHAPE_ROLES_ALL), shapes, &fault));
	must(!shapes_make(buffer_span(&file), SHAPE_BIT(one), alone, &again));
	must(fault == again && fault < SHAPE_FAULTS);
	if (fault) return 0;
	for (unsigned i = 1; i < SHAPE_END; i++)
		check((enum shape)i, &shapes[i]);
	must(span_equal(buffer_span(&alone[one]), buffer_span(&shapes[one])));
	return 0;
}
