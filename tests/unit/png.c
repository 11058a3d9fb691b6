/* PNG files: those of libpng are accepted; truncated, changed and invented ones are refused, and no pixel is
 * decompressed. */
#include "schemas/png.h"

#include "schemas/buffer.h"
#include "schemas/bytes.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct buffer file;

static void on_write(png_structp png, png_bytep bytes, size_t size)
{
	(void)png;
	buffer_append(&file, bytes, size);
}

static void on_flush(png_structp png)
{
	(void)png;
}

/* A file written by libpng. */
static struct span make(uint32_t width, uint32_t height, int colour, int depth)
{
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
	png_infop   info = png_create_info_struct(png);
	png_bytep   row = calloc(width, 8);
	buffer_clear(&file);
	png_set_write_fn(png, NULL, on_write, on_flush);
	png_set_IHDR(png, info, width, height, depth, colour, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
	             PNG_FILTER_TYPE_BASE);
	if (colour == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, &(png_color){1, 2, 3}, 1);
	png_write_info(png, info);
	for (uint32_t i = 0; i < height; i++)
		png_write_row(png, row);
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	free(row);
	return buffer_span(&file);
}

static void expect(struct span bytes, const char *want, const char *what)
{
	struct png_size size;
	const char     *got = png_fault(bytes, &size);
	cr_expect(want ? got && strstr(got, want) : !got, "%s: got %s", what, got ? got : "no fault");
}

Test(png, of_every_kind_is_accepted)
{
	static const struct {
		int colour, depth;
	} kinds[] = {{PNG_COLOR_TYPE_GRAY, 1},       {PNG_COLOR_TYPE_GRAY, 16},
	             {PNG_COLOR_TYPE_RGB, 8},        {PNG_COLOR_TYPE_RGB_ALPHA, 8},
	             {PNG_COLOR_TYPE_RGB_ALPHA, 16}, {PNG_COLOR_TYPE_PALETTE, 8}};
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct png_size size;
		cr_expect_null(png_fault(make(5, 7, kinds[i].colour, kinds[i].depth), &size), "kind %u", i);
		cr_expect(size.width == 5 && size.height == 7);
	}
}

Test(png, has_a_limit_of_each_side)
{
	expect(make(IMAGE_SIDE_MAX, 1, PNG_COLOR_TYPE_GRAY, 8), NULL, "as wide as may be");
	expect(make(1, IMAGE_SIDE_MAX, PNG_COLOR_TYPE_GRAY, 8), NULL, "as high as may be");
	expect(make(IMAGE_SIDE_MAX + 1, 1, PNG_COLOR_TYPE_GRAY, 8), "too many pixels", "wider");
	expect(make(1, IMAGE_SIDE_MAX + 1, PNG_COLOR_TYPE_GRAY, 8), "too many pixels", "higher");
}

Test(png, cut_anywhere_is_refused)
{
	struct span whole = make(20, 20, PNG_COLOR_TYPE_RGB, 8);
	for (size_t size = 0; size < whole.size; size++) {
		uint8_t *copy = malloc(size + 1); /* exact size, so that a read beyond it is detected */
		memcpy(copy, whole.at, size);
		expect(span_of(copy, size), size < 8 ? "not a PNG" : "damaged", "cut");
		free(copy);
	}
}

Test(png, with_a_changed_byte_is_refused)
{
	struct span whole = make(20, 20, PNG_COLOR_TYPE_RGB, 8);
	for (size_t i = 0; i < whole.size; i++) {
		struct png_size size;
		file.at[i] ^= 0x10;
		cr_expect_not_null(png_fault(whole, &size), "byte %zu", i);
		file.at[i] ^= 0x10;
	}
}

Test(png, with_only_a_beginning_and_an_end_is_refused)
{
	static const uint8_t empty[] = {0, 0, 0, 0, 'I', 'D', 'A', 'T', 0x35, 0xaf, 0x06, 0x1e};
	static const uint8_t iend[] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};
	struct span          whole = make(2, 2, PNG_COLOR_TYPE_GRAY, 8);
	uint8_t              bytes[64];
	memcpy(bytes, whole.at, 33);
	memcpy(bytes + 33, iend, sizeof iend);
	expect(span_of(bytes, 33 + sizeof iend), "damaged", "no pixel data");
	memcpy(bytes + 33, empty, sizeof empty);
	memcpy(bytes + 33 + sizeof empty, iend, sizeof iend);
	expect(span_of(bytes, 33 + sizeof empty + sizeof iend), "damaged", "empty pixel data");
	expect(span_str("\x89PNG\r\n\x1a\n"), "damaged", "a signature");
	expect(span_str("GIF89a______"), "not a PNG", "something else");
	expect(span_of(NULL, 0), "not a PNG", "nothing");
}

/* Sixteen million pixels in a few kilobytes: decompressing them would take a tenth of a second, the check
 * takes almost no time. */
Test(png, is_not_decompressed)
{
	struct span     whole = make(IMAGE_SIDE_MAX, IMAGE_SIDE_MAX, PNG_COLOR_TYPE_RGB_ALPHA, 8);
	struct timespec begun, ended;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
	expect(whole, NULL, "large");
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
	fprintf(stderr, "%zu bytes in %ld us\n", whole.size, (ended.tv_nsec - begun.tv_nsec) / 1000);
}
