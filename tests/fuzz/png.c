/* Images from foreign servers: any bytes, or chunks with valid checksums. An accepted image has a permitted
 * size, is accepted with bytes after its end, and is refused without its end. */
#include "tests/fuzz/fuzz.h"

#include "schemas/buffer.h"
#include "schemas/limits.h"
#include "schemas/png.h"
#include "tests/fuzz/png_chunks.h"

static struct buffer file;

static void put_chunks(struct supply *supply)
{
	static const char *const kinds[] = {"IHDR", "IDAT", "IEND", "PLTE", "tRNS", "zTXt", "iCCP",
	                                    "sPLT", "hIST", "abcd", "ABCD", "iTXt", "gAMA", "eXIf"};
	png_put_signature(&file);
	for (unsigned i = 0; i < 20 && supply->left.size; i++) {
		const char *kind = kinds[supply_byte(supply) % (sizeof kinds / sizeof *kinds)];
		png_put_chunk(&file, kind, supply_bytes(supply, supply_byte(supply)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct supply   supply = {span_of(bytes, size)};
	struct png_size got, again;
	bool            made = supply_byte(&supply) & 1;
	buffer_clear(&file);
	if (made)
		put_chunks(&supply);
	else
		buffer_append(&file, supply.left.at, supply.left.size);
	if (png_fault(buffer_span(&file), &got)) return 0;
	must(got.width >= 1 && got.width <= IMAGE_SIDE_MAX && got.height >= 1 &&
	     got.height <= IMAGE_SIDE_MAX);
	buffer_append(&file, "behind", 6);
	must(!png_fault(buffer_span(&file), &again) && again.width == got.width &&
	     again.height == got.height);
	must(png_fault(span_of(file.at, 8 + 25 + 12 + 1), &again)); /* a header and less than data and end */
	return 0;
}
