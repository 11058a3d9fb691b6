/* Pictures reduced for wallets: each pixel is the average of the area that it covers, compared with sums over all source
 * pixels; sizes and places by a table; damaged and hostile files. */
#include "actors/timer/shape.h"

#include "schemas/bytes.h"
#include "schemas/limits.h"
#include "schemas/png.h"

#include <criterion/criterion.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct picture {
	uint32_t width, height;
	uint8_t *rgba;
};

static struct buffer file, shapes[SHAPE_END];
static uint32_t      dice = 1;

static uint8_t roll(void)
{
	dice = dice * 1664525u + 1013904223u;
	return (uint8_t)(dice >> 24);
}

static void on_write(png_structp png, png_bytep bytes, size_t size)
{
	(void)png;
	buffer_append(&file, bytes, size);
}

static void on_flush(png_structp png)
{
	(void)png;
}

enum look { NOISE, OPAQUE, CLEAR_OR_NOT, PLAIN };

static struct picture paint(uint32_t width, uint32_t height, enum look look)
{
	struct picture picture = {width, height, malloc((size_t)width * height * 4)};
	for (size_t i = 0; i < (size_t)width * height * 4; i += 4) {
		uint8_t *p = picture.rgba + i;
		p[0] = look == PLAIN ? 10 : roll();
		p[1] = look == PLAIN ? 20 : roll();
		p[2] = look == PLAIN ? 30 : roll();
		p[3] = look == OPAQUE || look == PLAIN ? 255
		       : look == CLEAR_OR_NOT          ? (roll() & 1) * 255
		                                       : roll();
	}
	return picture;
}

/* The picture as a file, eight bits RGBA. */
static struct span save(const struct picture *picture, int interlace)
{
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
	png_infop   info = png_create_info_struct(png);
	buffer_clear(&file);
	png_set_write_fn(png, NULL, on_write, on_flush);
	png_set_compression_level(png, 1);
	png_set_IHDR(png, info, picture->width, picture->height, 8, PNG_COLOR_TYPE_RGB_ALPHA, interlace,
	             PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
	png_write_info(png, info);
	for (int pass = png_set_interlace_handling(png); pass > 0; pass--)
		for (uint32_t i = 0; i < picture->height; i++)
			png_write_row(png, picture->rgba + (size_t)i * picture->width * 4);
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	return buffer_span(&file);
}

/* The pixels of a PNG, by libpng's simplified reader. */
static struct picture load(struct span bytes)
{
	png_image image = {.version = PNG_IMAGE_VERSION};
	cr_assert(png_image_begin_read_from_memory(&image, bytes.at, bytes.size));
	image.format = PNG_FORMAT_RGBA;
	struct picture picture = {image.width, image.height, malloc(PNG_IMAGE_SIZE(image))};
	cr_assert(png_image_finish_read(&image, NULL, picture.rgba, 0, NULL));
	return picture;
}

static enum shape_fault make(struct span bytes, unsigned wanted)
{
	enum shape_fault fault;
	cr_assert_eq(shapes_make(bytes, wanted, shapes, &fault), OK);
	return fault;
}

/* How much of source pixel i, of `used`, lies in target pixel t, of `to`; in units of 1/to. */
static uint64_t overlap(uint32_t i, uint32_t t, uint32_t used, uint32_t to)
{
	uint64_t begin = (uint64_t)i * to, end = begin + to, from = (uint64_t)t * used, until = from + used;
	if (begin < from) begin = from;
	if (end > until) end = until;
	return begin < end ? end - begin : 0;
}

/* The part of the source that is used, and what becomes of it. */
struct frame {
	uint32_t cut_x, cut_y, used_x, used_y, to_x, to_y, pad_x, pad_y;
};

static void average(const struct picture *source, const struct frame *frame, uint32_t x, uint32_t y,
                    uint8_t want[4])
{
	uint64_t sum[4] = {0}, area = (uint64_t)frame->used_x * frame->used_y;
	uint32_t end_x = (uint32_t)((uint64_t)(x + 1) * frame->used_x / frame->to_x) + 1;
	uint32_t end_y = (uint32_t)((uint64_t)(y + 1) * frame->used_y / frame->to_y) + 1;
	for (uint32_t j = (uint32_t)((uint64_t)y * frame->used_y / frame->to_y);
	     j < end_y && j < frame->used_y; j++)
		for (uint32_t i = (uint32_t)((uint64_t)x * frame->used_x / frame->to_x);
		     i < end_x && i < frame->used_x; i++) {
			uint64_t weight = overlap(i, x, frame->used_x, frame->to_x) *
			                  overlap(j, y, frame->used_y, frame->to_y);
			const uint8_t *p = source->rgba +
			                   ((size_t)(j + frame->cut_y) * source->width + i + frame->cut_x) *
			                       4;
			for (unsigned c = 0; c < 3; c++)
				sum[c] += weight * p[c] * p[3];
			sum[3] += weight * p[3];
		}
	for (unsigned c = 0; c < 3; c++)
		want[c] = (uint8_t)(sum[3] ? (sum[c] + sum[3] / 2) / sum[3] : 0);
	want[3] = (uint8_t)((sum[3] + area / 2) / area);
}

static void expect_averages(const struct picture *source, enum shape shape, const struct frame *frame)
{
	struct picture got = load(buffer_span(&shapes[shape]));
	unsigned       wrong = 0;
	for (uint32_t y = 0; y < frame->to_y; y++)
		for (uint32_t x = 0; x < frame->to_x; x++) {
			uint8_t        want[4];
			const uint8_t *p = got.rgba +
			                   ((size_t)(y + frame->pad_y) * got.width + x + frame->pad_x) * 4;
			average(source, frame, x, y, want);
			wrong += want[3] != p[3] || (want[3] && memcmp(want, p, 3));
		}
	cr_expect_eq(wrong, 0, "shape %d of %u x %u: %u pixels of %u are wrong", shape, source->width,
	             source->height, wrong, frame->to_x * frame->to_y);
	free(got.rgba);
}

Test(shape_pixels, are_exact_averages_of_areas)
{
	static const struct {
		uint32_t     width, height;
		enum shape   shape;
		struct frame frame;
	} rows[] = {
	    {200, 100, SHAPE_LOGO, {.used_x = 200, .used_y = 100, .to_x = 100, .to_y = 50}},
	    {331, 77, SHAPE_LOGO, {.used_x = 331, .used_y = 77, .to_x = 160, .to_y = 37}},
	    {101, 173, SHAPE_LOGO, {.used_x = 101, .used_y = 173, .to_x = 29, .to_y = 50}},
	    {101, 173, SHAPE_ICON, {.used_x = 101, .used_y = 173, .to_x = 16, .to_y = 29, .pad_x = 6}},
	    {90, 31, SHAPE_ICON, {.used_x = 90, .used_y = 31, .to_x = 29, .to_y = 9, .pad_y = 10}},
	    {30, 30, SHAPE_ICON, {.used_x = 30, .used_y = 30, .to_x = 29, .to_y = 29}},
	    {11, 7, SHAPE_ICON, {.used_x = 11, .used_y = 7, .to_x = 11, .to_y = 7, .pad_x = 9, .pad_y = 11}},
	    {1, 400, SHAPE_LOGO, {.used_x = 1, .used_y = 400, .to_x = 1, .to_y = 50}},
	    {300,
	     900,
	     SHAPE_STRIP_2X,
	     {.cut_y = 392, .used_x = 300, .used_y = 115, .to_x = 300, .to_y = 115}},
	};
	for (unsigned look = NOISE; look <= CLEAR_OR_NOT; look++)
		for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
			struct picture source = paint(rows[i].width, rows[i].height, (enum look)look);
			cr_assert_eq(make(save(&source, 0), SHAPE_BIT(rows[i].shape)), SHAPE_GOOD);
			expect_averages(&source, rows[i].shape, &rows[i].frame);
			free(source.rgba);
		}
}

Test(shape_pixels, have_these_sizes)
{
	static const struct {
		uint32_t   width, height;
		enum shape shape;
		uint32_t   to_width, to_height;
	} rows[] = {
	    {1200, 400, SHAPE_LOGO, 150, 50},
	    {1200, 400, SHAPE_LOGO_2X, 300, 100},
	    {1200, 400, SHAPE_LOGO_3X, 450, 150},
	    {1200, 400, SHAPE_ICON_3X, 87, 87},
	    {4096, 10, SHAPE_LOGO, 160, 1},
	    {3, 2, SHAPE_LOGO_3X, 3, 2},
	    {3, 2, SHAPE_ICON, 29, 29},
	    {1600, 800, SHAPE_STRIP_2X, 750, 288},
	    {1600, 800, SHAPE_EVENT_STRIP_2X, 750, 196},
	    {375, 144, SHAPE_STRIP_2X, 375, 144},
	    {100, 100, SHAPE_STRIP_2X, 100, 38},
	    {1, 1, SHAPE_STRIP_2X, 1, 1},
	    {100, 4000, SHAPE_STRIP_2X, 100, 38},
	    {4000, 100, SHAPE_STRIP_2X, 260, 100},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct picture  source = paint(rows[i].width, rows[i].height, PLAIN);
		struct png_size size;
		cr_assert_eq(make(save(&source, 0), SHAPE_BIT(rows[i].shape)), SHAPE_GOOD);
		cr_assert_null(png_fault(buffer_span(&shapes[rows[i].shape]), &size));
		cr_expect(size.width == rows[i].to_width && size.height == rows[i].to_height,
		          "row %u: %u x %u", i, size.width, size.height);
		free(source.rgba);
	}
}

/* Every kind of file that libpng reads gives what its RGBA gives. */
Test(shape_pixels, do_not_depend_on_the_kind_of_file)
{
	static const struct {
		png_uint_32 format;
		bool        is_grey, has_alpha;
	} kinds[] = {{PNG_FORMAT_RGBA, false, true},          {PNG_FORMAT_RGB, false, false},
	             {PNG_FORMAT_GRAY, true, false},          {PNG_FORMAT_GA, true, true},
	             {PNG_FORMAT_RGB_COLORMAP, false, false}, {PNG_FORMAT_RGBA_COLORMAP, false, true}};
	static const uint8_t map[8][4] = {{1, 2, 3, 255},    {250, 5, 9, 255}, {0, 0, 0, 255},
	                                  {9, 99, 199, 255}, {255, 0, 255, 9}, {4, 4, 4, 0},
	                                  {7, 8, 9, 128},    {1, 255, 1, 77}};
	enum { W = 123, H = 61 };
	static uint8_t raw[W * H * 4], rgba[W * H * 4];
	for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		bool      mapped = kinds[k].format & PNG_FORMAT_FLAG_COLORMAP;
		unsigned  bytes = mapped ? 1 : (kinds[k].is_grey ? 1u : 3u) + kinds[k].has_alpha;
		png_image image = {
			.version = PNG_IMAGE_VERSION,
			.width = W,
			.height = H,
			.format = kinds[k].format,
			.colormap_entries = 8
		};
		uint8_t colours[8 * 4];
		for (unsigned i = 0; i < 8; i++)
			memcpy(colours + i * (kinds[k].has_alpha ? 4 : 3), map[i],
			       kinds[k].has_alpha ? 4 : 3);
		for (size_t i = 0; i < (size_t)W * H; i++) {
			uint8_t *from = raw + i * bytes, *to = rgba + i * 4;
			for (unsigned c = 0; c < bytes; c++)
				from[c] = mapped ? roll() & 7 : roll();
			if (mapped) {
				memcpy(to, map[*from], 4);
				if (!kinds[k].has_alpha) to[3] = 255;
				continue;
			}
			for (unsigned c = 0; c < 3; c++)
				to[c] = from[kinds[k].is_grey ? 0 : c];
			to[3] = kinds[k].has_alpha ? from[bytes - 1] : 255;
		}
		png_alloc_size_t size = 0;
		cr_assert(png_image_write_get_memory_size(image, size, 0, raw, 0, colours));
		uint8_t *written = malloc(size);
		cr_assert(png_image_write_to_memory(&image, written, &size, 0, raw, 0, colours));
		cr_assert_eq(make(span_of(written, size), SHAPE_BIT(SHAPE_ICON_2X)), SHAPE_GOOD);
		struct picture     source = { W, H, rgba };
		const struct frame frame = {.used_x = W, .used_y = H, .to_x = 58, .to_y = 28, .pad_y = 15 };
		expect_averages(&source, SHAPE_ICON_2X, &frame);
		free(written);
	}
}

Test(shape_pixels, are_the_same_of_an_interlaced_file)
{
	struct picture source = paint(333, 222, NOISE);
	struct buffer  plain = {0};
	cr_assert_eq(make(save(&source, PNG_INTERLACE_NONE), SHAPE_BIT(SHAPE_LOGO_2X)), SHAPE_GOOD);
	buffer_append(&plain, shapes[SHAPE_LOGO_2X].at, shapes[SHAPE_LOGO_2X].size);
	cr_assert_eq(make(save(&source, PNG_INTERLACE_ADAM7), SHAPE_BIT(SHAPE_LOGO_2X)), SHAPE_GOOD);
	cr_expect(span_equal(buffer_span(&plain), buffer_span(&shapes[SHAPE_LOGO_2X])));
	buffer_free(&plain);
	free(source.rgba);
}

Test(shape_pixels, of_a_large_interlaced_file_are_not_made)
{
	struct picture most = paint(1024, 1024, PLAIN), more = paint(1025, 1024, PLAIN);
	cr_expect_eq(make(save(&most, PNG_INTERLACE_ADAM7), SHAPE_BIT(SHAPE_ICON)), SHAPE_GOOD);
	cr_expect_eq(make(save(&more, PNG_INTERLACE_ADAM7), SHAPE_BIT(SHAPE_ICON)), SHAPE_INTERLACED);
	cr_expect_eq(make(save(&more, PNG_INTERLACE_NONE), SHAPE_BIT(SHAPE_ICON)), SHAPE_GOOD);
	free(most.rgba);
	free(more.rgba);
}

Test(shape_pixels, of_a_heavy_strip_are_fewer)
{
	struct png_size size;
	struct picture  noise = paint(800, 300, OPAQUE), plain = paint(800, 300, PLAIN);
	unsigned        both = SHAPE_BIT(SHAPE_STRIP_2X) | SHAPE_BIT(SHAPE_EVENT_STRIP_2X);
	cr_assert_eq(make(save(&noise, 0), both), SHAPE_GOOD);
	cr_assert_null(png_fault(buffer_span(&shapes[SHAPE_STRIP_2X]), &size));
	cr_expect(size.width == 562 && size.height == 216, "%u x %u", size.width, size.height);
	cr_expect_leq(shapes[SHAPE_STRIP_2X].size, SHAPE_BYTES_MAX);
	cr_assert_null(png_fault(buffer_span(&shapes[SHAPE_EVENT_STRIP_2X]), &size));
	cr_expect(size.width == 562 && size.height == 147, "%u x %u", size.width, size.height);
	cr_assert_eq(make(save(&plain, 0), both), SHAPE_GOOD);
	cr_assert_null(png_fault(buffer_span(&shapes[SHAPE_STRIP_2X]), &size));
	cr_expect(size.width == 750 && size.height == 288, "%u x %u", size.width, size.height);
	free(noise.rgba);
	free(plain.rgba);
}

/* A name given under several densities is one file. */
Test(shape_pixels, of_roles)
{
	cr_expect_eq(shapes_of_roles(0), 0);
	cr_expect_eq(shapes_of_roles(SHAPE_OF_ICON), 0x0e);
	cr_expect_eq(shapes_of_roles(SHAPE_OF_LOGO), 0x7e);
	cr_expect_eq(shapes_of_roles(SHAPE_OF_BANNER), 0x180);
	cr_expect_eq(shapes_of_roles(SHAPE_ROLES_ALL), 0x1fe);
}

Test(shape_pixels, of_a_cut_file_are_not_made)
{
	struct picture source = paint(40, 30, NOISE);
	struct span    whole = save(&source, 0);
	for (size_t size = 0; size < whole.size - 12; size += 7) {
		uint8_t *copy = malloc(size + 1); /* exact size, so that a read beyond it is detected */
		memcpy(copy, whole.at, size);
		enum shape_fault fault = make(span_of(copy, size), SHAPE_BIT(SHAPE_ICON));
		cr_expect(fault == SHAPE_DAMAGED || size > whole.size - 32, "%zu of %zu bytes", size,
		          whole.size);
		free(copy);
	}
	free(source.rgba);
}

Test(shape_pixels, of_a_changed_file_end_in_words)
{
	struct picture source = paint(20, 20, NOISE);
	struct span    whole = save(&source, 0);
	unsigned       faults = 0;
	for (size_t i = 0; i < whole.size; i++)
		for (unsigned bit = 0; bit < 8; bit += 3) {
			file.at[i] ^= (uint8_t)(1u << bit);
			faults += make(whole, SHAPE_BIT(SHAPE_ICON) | SHAPE_BIT(SHAPE_STRIP_2X)) !=
			          SHAPE_GOOD;
			file.at[i] ^= (uint8_t)(1u << bit);
		}
	cr_expect_gt(faults, whole.size * 2, "%u faults in %zu bytes", faults, whole.size);
	free(source.rgba);
}

/* Texts and profiles of an image may inflate without end. They are passed over. */
Test(shape_pixels, need_no_other_chunks)
{
	static const uint8_t text[] = "\0\0\0\5zTXta\0\0\1\xff\x42\x2a\xc8\xef"; /* rubbish, its sum holds */
	struct picture       source = paint(20, 20, NOISE);
	struct buffer        with = {0};
	struct span          whole = save(&source, 0);
	buffer_append(&with, whole.at, 33);
	buffer_append(&with, text, sizeof text - 1);
	buffer_append(&with, whole.at + 33, whole.size - 33);
	cr_expect_eq(make(buffer_span(&with), SHAPE_BIT(SHAPE_ICON)), SHAPE_GOOD);
	buffer_free(&with);
	free(source.rgba);
}

/* The largest image, every shape: the time is printed. */
Test(shape_pixels, of_the_largest_file)
{
	struct picture  source = paint(IMAGE_SIDE_MAX, IMAGE_SIDE_MAX, PLAIN);
	struct span     whole = save(&source, 0);
	struct timespec begun, ended;
	free(source.rgba);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
	cr_expect_eq(make(whole, shapes_of_roles(SHAPE_ROLES_ALL)), SHAPE_GOOD);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
	long us = (ended.tv_sec - begun.tv_sec) * 1000000 + (ended.tv_nsec - begun.tv_nsec) / 1000;
	fprintf(stderr, "%zu bytes in %ld us\n", whole.size, us);
}
