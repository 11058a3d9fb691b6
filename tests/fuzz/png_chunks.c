/* Writes PNG files chunk by chunk. */
#include "tests/fuzz/png_chunks.h"

#include "schemas/bytes.h"

#include <zlib.h>

void png_put_signature(struct buffer *file)
{
	buffer_append(file, "\x89PNG\r\n\x1a\n", 8);
}

void png_put_chunk(struct buffer *file, const char *kind, struct span data)
{
	uint8_t word[4];
	size_t  begin = file->size + 4;
	put_be32(word, (uint32_t)data.size);
	buffer_append(file, word, 4);
	buffer_append(file, kind, 4);
	buffer_append(file, data.at, data.size);
	put_be32(word, (uint32_t)crc32(0, file->at + begin, (uInt)(file->size - begin)));
	buffer_append(file, word, 4);
}
