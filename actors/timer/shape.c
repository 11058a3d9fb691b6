/* The steps of one picture:
 *
 *   libpng's reader ─▶ row of RGBA ─▶ a filter for each shape ─▶ libpng's writer
 *
 * A filter works on two lines of integers, one for each axis. Of the `used` source pixels, each is `to` long; each of the `to`
 * target pixels is `used` long. So both fill the line exactly, and every overlap of a source and a target pixel is an integer:
 * no fraction is rounded before the end. Colours are summed times alpha, so that clear pixels have no colour. The sums of one
 * target pixel are at most used * used * 255 * 255, below 2^41. */
#include "actors/timer/shape.h"

#include "schemas/limits.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 4, ALPHA = 3, SMALLER_NUMBER = 3, SMALLER_OF = 4 };
enum { LEVEL = 6 }; /* of zlib */

/* One axis of a filter. The source pixels [cut, cut + used) become `to` pixels, after `pad` clear ones. */
struct axis {
	uint32_t cut, used, to, pad;
};

struct filter {
	struct axis x, y;
	uint32_t    width, height; /* of the result */
	uint64_t   *sums;          /* CHANNELS for each of x.to */
	uint8_t    *pixels;        /* the result, RGBA */
	uint32_t    row;           /* of y.to: the next to be complete */
	uint64_t    at;            /* on the line of y: where the next source row begins */
};

struct maker {
	struct span      left; /* of the file */
	png_structp      png;
	png_infop        info;
	uint32_t         width, height;
	bool             is_interlaced;
	uint8_t         *rows; /* one, or all of an interlaced image */
	struct filter    filters[SHAPE_END];
	unsigned         wanted;
	bool             is_smaller; /* strips are made at three quarters */
	struct buffer   *to;         /* of the writer */
	bool             is_opaque;  /* likewise: no pixel is clear */
	enum shape_fault fault;
	bool             lacks_memory;
};

/* Filter -------------------------------------------------------------------------------------------------- */

/* a * b / c, at least 1. */
static uint32_t scaled(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t result = (uint32_t)((uint64_t)a * b / c);
	return result ? result : 1;
}

static void plan_fill(struct filter *filter, uint32_t width, uint32_t height)
{
	struct axis *x = &filter->x, *y = &filter->y;
	bool         is_wide = (uint64_t)x->used * height > (uint64_t)y->used * width;
	uint32_t     whole_x = x->used, whole_y = y->used;
	if (is_wide)
		x->used = scaled(whole_y, width, height);
	else
		y->used = scaled(whole_x, height, width);
	x->cut = (whole_x - x->used) / 2;
	y->cut = (whole_y - y->used) / 2;
	x->to = x->used > width ? width : x->used;
	y->to = y->used > height ? height : y->used;
}

static void plan_fit(struct filter *filter, uint32_t width, uint32_t height)
{
	struct axis *x = &filter->x, *y = &filter->y;
	if (x->used <= width && y->used <= height) return;
	bool is_wide = (uint64_t)x->used * height > (uint64_t)y->used * width;
	x->to = is_wide ? width : scaled(x->used, height, y->used);
	y->to = is_wide ? scaled(y->used, width, x->used) : height;
}

/* Where the pixels of an image go. */
static void plan(struct filter *filter, const struct maker *maker, const struct shape_form *shape)
{
	uint32_t width = shape->width, height = shape->height;
	*filter = (struct filter){.x = {.used = maker->width, .to = maker->width},
	                          .y = {.used = maker->height, .to = maker->height}};
	if (shape->how == SHAPE_FILL && maker->is_smaller) {
		width = width * SMALLER_NUMBER / SMALLER_OF;
		height = height * SMALLER_NUMBER / SMALLER_OF;
	}
	if (shape->how == SHAPE_FILL)
		plan_fill(filter, width, height);
	else
		plan_fit(filter, width, height);
	filter->width = filter->x.to;
	filter->height = filter->y.to;
	if (shape->how != SHAPE_PAD) return;
	filter->width = width;
	filter->height = height;
	filter->x.pad = (width - filter->x.to) / 2;
	filter->y.pad = (height - filter->y.to) / 2;
}

static bool filter_open(struct filter *filter)
{
	filter->sums = calloc((size_t)filter->x.to * CHANNELS, sizeof *filter->sums);
	filter->pixels = calloc((size_t)filter->width * filter->height, CHANNELS);
	return filter->sums && filter->pixels;
}

static void add_pixel(uint64_t *sums, const uint8_t *pixel, uint64_t weight)
{
	uint64_t alpha = pixel[ALPHA] * weight;
	for (unsigned i = 0; i < ALPHA; i++)
		sums[i] += pixel[i] * alpha;
	sums[ALPHA] += alpha;
}

/* Adds `weight` times a source row to the sums. */
static void add_row(struct filter *filter, const uint8_t *row, uint64_t weight)
{
	const struct axis *x = &filter->x;
	uint64_t           at = 0, edge = x->used;
	uint64_t          *sums = filter->sums;
	const uint8_t     *pixel = row + (size_t)x->cut * CHANNELS;
	for (uint32_t i = 0; i < x->used; i++, pixel += CHANNELS) {
		uint64_t end = at + x->to;
		if (end >= edge) { /* x.to <= x.used, so it covers parts of two at most */
			add_pixel(sums, pixel, (edge - at) * weight);
			sums += CHANNELS;
			at = edge;
			edge += x->used;
		}
		if (at < end) add_pixel(sums, pixel, (end - at) * weight);
		at = end;
	}
}

/* The sums are those of a whole target row. */
static void take_row(struct filter *filter)
{
	const uint64_t area = (uint64_t)filter->x.used * filter->y.used;
	size_t         place = (size_t)(filter->row + filter->y.pad) * filter->width + filter->x.pad;
	uint8_t       *pixel = filter->pixels + place * CHANNELS;
	for (uint32_t i = 0; i < filter->x.to; i++, pixel += CHANNELS) {
		const uint64_t *sums = filter->sums + (size_t)i * CHANNELS;
		const uint64_t  alpha = sums[ALPHA];
		for (unsigned c = 0; c < ALPHA; c++)
			pixel[c] = (uint8_t)(alpha ? (sums[c] + alpha / 2) / alpha : 0);
		pixel[ALPHA] = (uint8_t)((alpha + area / 2) / area);
	}
	memset(filter->sums, 0, (size_t)filter->x.to * CHANNELS * sizeof *filter->sums);
	filter->row++;
}

static void filter_row(struct filter *filter, uint32_t number, const uint8_t *row)
{
	const struct axis *y = &filter->y;
	if (number < y->cut || number >= y->cut + y->used) return;
	uint64_t end = filter->at + y->to;
	while (filter->at < end) {
		uint64_t edge = (uint64_t)(filter->row + 1) * y->used;
		uint64_t stop = end < edge ? end : edge;
		add_row(filter, row, stop - filter->at);
		filter->at = stop;
		if (stop == edge) take_row(filter);
	}
}

/* libpng -------------------------------------------------------------------------------------------------- */

static void on_error(png_structp png, png_const_charp message)
{
	(void)message;
	png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
	(void)png, (void)message;
}

static void on_read(png_structp png, png_bytep to, size_t size)
{
	struct maker *maker = png_get_io_ptr(png);
	if (size > maker->left.size) png_error(png, "it ends too early");
	memcpy(to, maker->left.at, size);
	maker->left = span_of(maker->left.at + size, maker->left.size - size);
}

static void on_write(png_structp png, png_bytep bytes, size_t size)
{
	struct maker *maker = png_get_io_ptr(png);
	buffer_append(maker->to, bytes, size);
	if (maker->to->failed) png_error(png, "no memory");
}

static void on_flush(png_structp png)
{
	(void)png;
}

/* Bounds, and no chunk is read that does not concern the pixels: some of the others inflate. */
static void set_limits(png_structp png)
{
	static const png_byte skipped[] = "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0"
	                                  "sCAL\0sPLT\0sRGB\0sTER\0tEXt\0tIME\0zTXt";
	png_set_user_limits(png, IMAGE_SIDE_MAX, IMAGE_SIDE_MAX);
	png_set_chunk_malloc_max(png, IMAGE_BYTES_MAX);
	png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, skipped, sizeof skipped / 5);
}

/* Reads everything before the pixels; rows will be RGBA of eight bits. False: no image that we take. */
static bool read_head(struct maker *maker, int *passes)
{
	png_structp png = maker->png;
	set_limits(png);
	png_read_info(png, maker->info);
	maker->width = png_get_image_width(png, maker->info);
	maker->height = png_get_image_height(png, maker->info);
	maker->is_interlaced = png_get_interlace_type(png, maker->info) != PNG_INTERLACE_NONE;
	if (maker->is_interlaced && (uint64_t)maker->width * maker->height > SHAPE_INTERLACED_PIXELS_MAX) {
		maker->fault = SHAPE_INTERLACED;
		return false;
	}
	png_set_expand(png);
	png_set_scale_16(png);
	png_set_gray_to_rgb(png);
	png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
	*passes = png_set_interlace_handling(png);
	png_read_update_info(png, maker->info);
	return png_get_rowbytes(png, maker->info) == (size_t)maker->width * CHANNELS;
}

static bool make_room(struct maker *maker)
{
	size_t rows = maker->is_interlaced ? maker->height : 1;
	maker->rows = malloc((size_t)maker->width * CHANNELS * rows);
	bool good = maker->rows != NULL;
	for (unsigned i = 1; good && i < SHAPE_END; i++) {
		if (!(maker->wanted & SHAPE_BIT(i))) continue;
		plan(&maker->filters[i], maker, shape_of((enum shape)i));
		good = filter_open(&maker->filters[i]);
	}
	maker->lacks_memory = !good;
	return good;
}

static void filter_all(struct maker *maker, uint32_t number, const uint8_t *row)
{
	for (unsigned i = 1; i < SHAPE_END; i++)
		if (maker->wanted & SHAPE_BIT(i)) filter_row(&maker->filters[i], number, row);
}

/* A function of its own, since libpng leaves it by a longjmp: everything that it changes is in *maker. */
static bool read_all(struct maker *maker)
{
	int          passes;
	const size_t row_bytes_max = (size_t)IMAGE_SIDE_MAX * CHANNELS;
	if (setjmp(png_jmpbuf(maker->png))) return false;
	if (!read_head(maker, &passes) || !make_room(maker)) return false;
	const size_t row_bytes = (size_t)maker->width * CHANNELS;
	must(row_bytes <= row_bytes_max);
	for (int pass = 0; maker->is_interlaced && pass < passes; pass++)
		for (uint32_t i = 0; i < maker->height; i++)
			png_read_row(maker->png, maker->rows + row_bytes * i, NULL);
	for (uint32_t i = 0; i < maker->height; i++) {
		uint8_t *row = maker->rows + (maker->is_interlaced ? row_bytes * i : 0);
		if (!maker->is_interlaced) png_read_row(maker->png, row, NULL);
		filter_all(maker, i, row);
	}
	maker->fault = SHAPE_GOOD;
	return true;
}

static bool is_opaque(const struct filter *filter)
{
	size_t  count = (size_t)filter->width * filter->height;
	uint8_t all = 255;
	for (size_t i = 0; i < count; i++)
		all &= filter->pixels[i * CHANNELS + ALPHA];
	return all == 255;
}

/* Likewise. */
static bool write_all(struct maker *maker, const struct filter *filter)
{
	png_structp png = maker->png;
	if (setjmp(png_jmpbuf(png))) return false;
	png_set_write_fn(png, maker, on_write, on_flush);
	png_set_compression_level(png, LEVEL);
	png_set_IHDR(png, maker->info, filter->width, filter->height, 8,
	             maker->is_opaque ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGB_ALPHA, PNG_INTERLACE_NONE,
	             PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
	png_write_info(png, maker->info);
	if (maker->is_opaque) png_set_filler(png, 0, PNG_FILLER_AFTER);
	for (uint32_t i = 0; i < filter->height; i++)
		png_write_row(png, filter->pixels + (size_t)i * filter->width * CHANNELS);
	png_write_end(png, NULL);
	return true;
}

/* ---------------------------------------------------------------------------------------------------------- */

static void maker_free(struct maker *maker)
{
	for (unsigned i = 1; i < SHAPE_END; i++) {
		free(maker->filters[i].sums);
		free(maker->filters[i].pixels);
		maker->filters[i] = (struct filter){.sums = NULL};
	}
	free(maker->rows);
	maker->rows = NULL;
}

static enum err decode(struct maker *maker, struct span file)
{
	maker->left = file;
	maker->fault = SHAPE_DAMAGED;
	maker->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
	maker->info = maker->png ? png_create_info_struct(maker->png) : NULL;
	if (!maker->info) maker->lacks_memory = true;
	if (maker->info) {
		png_set_read_fn(maker->png, maker, on_read);
		(void)!read_all(maker);
	}
	png_destroy_read_struct(&maker->png, &maker->info, NULL);
	return maker->lacks_memory ? ERR_NO_MEMORY : OK;
}

static enum err encode(struct maker *maker, const struct filter *filter, struct buffer *out)
{
	bool written = false;
	buffer_clear(out);
	maker->to = out;
	maker->is_opaque = is_opaque(filter);
	maker->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
	maker->info = maker->png ? png_create_info_struct(maker->png) : NULL;
	if (maker->info) written = write_all(maker, filter);
	png_destroy_write_struct(&maker->png, &maker->info);
	return written ? OK : ERR_NO_MEMORY;
}

/* Decodes the file once, for the shapes `wanted`. *too_large: the strips among them that must be made smaller. */
static enum err make(struct maker *maker, struct span file, struct buffer out[SHAPE_END], unsigned *too_large)
{
	enum err err = decode(maker, file);
	*too_large = 0;
	for (unsigned i = 1; !err && !maker->fault && i < SHAPE_END; i++) {
		if (!(maker->wanted & SHAPE_BIT(i))) continue;
		err = encode(maker, &maker->filters[i], &out[i]);
		bool is_strip = shape_of((enum shape)i)->how == SHAPE_FILL;
		if (is_strip && out[i].size > SHAPE_STRIP_BYTES) *too_large |= SHAPE_BIT(i);
	}
	maker_free(maker);
	return err;
}

enum err shapes_make(struct span png, unsigned wanted, struct buffer out[SHAPE_END], enum shape_fault *fault)
{
	struct maker maker = {.wanted = wanted};
	unsigned     too_large;
	enum err     err = make(&maker, png, out, &too_large);
	if (!err && !maker.fault && too_large) {
		maker.wanted = too_large;
		maker.is_smaller = true;
		err = make(&maker, png, out, &too_large);
	}
	*fault = maker.fault;
	return err;
}
