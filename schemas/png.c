/* PNGs, by libpng's own reader. It passes every chunk except the header to us, IDAT too: it then reads each to its
 * end and verifies its checksum, but inflates none. So an image that would inflate to gigabytes costs no more than
 * others. */
#include "schemas/png.h"

#include "schemas/limits.h"

#include <png.h>
#include <string.h>

enum { SIGNATURE_BYTES = 8, SIDE_MAX = 0x7fffffff };

struct reader {
	struct span left;
	bool        has_data;
};

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
	struct reader *reader = png_get_io_ptr(png);
	if (size > reader->left.size) png_error(png, "it ends too early");
	memcpy(to, reader->left.at, size);
	reader->left = span_of(reader->left.at + size, reader->left.size - size);
}

/* Returns 1: handled. */
static int on_chunk(png_structp png, png_unknown_chunkp chunk)
{
	struct reader *reader = png_get_user_chunk_ptr(png);
	if (!memcmp(chunk->name, "IDAT", 4) && chunk->size) reader->has_data = true;
	return 1;
}

/* A function of its own, so that a longjmp out of libpng interrupts nothing else. */
static bool read_all(png_structp png, png_infop info, struct png_size *size)
{
	static const png_byte data[] = "IDAT";
	if (setjmp(png_jmpbuf(png))) return false;
	png_set_user_limits(png, SIDE_MAX, SIDE_MAX);
	png_set_chunk_malloc_max(png, IMAGE_BYTES_MAX);
	png_set_benign_errors(png, 1);
	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_ALWAYS, NULL, -1);
	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_ALWAYS, data, 1);
	png_read_info(png, info);
	size->width = png_get_image_width(png, info);
	size->height = png_get_image_height(png, info);
	png_read_end(png, NULL);
	return true;
}

const char *png_fault(struct span bytes, struct png_size *size)
{
	struct reader reader = {.left = bytes};
	png_infop     info = NULL;
	bool          whole = false;

	*size = (struct png_size){0};
	if (bytes.size < SIGNATURE_BYTES || png_sig_cmp(bytes.at, 0, SIGNATURE_BYTES))
		return "it is not a PNG";
	png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
	if (png) info = png_create_info_struct(png);
	if (info) {
		png_set_read_fn(png, &reader, on_read);
		png_set_read_user_chunk_fn(png, &reader, on_chunk);
		whole = read_all(png, info, size);
	}
	png_destroy_read_struct(&png, &info, NULL);
	if (size->width > IMAGE_SIDE_MAX || size->height > IMAGE_SIDE_MAX)
		return "it has too many pixels a side";
	return whole && reader.has_data ? NULL : "it is a damaged PNG";
}
