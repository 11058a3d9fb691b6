/* The heads of a ZIP archive. */
#include "schemas/wallet/zip.h"

#include "schemas/bytes.h"

#include <zlib.h>

enum {
	VERSION = 10,          /* needed to read it: 1.0, nothing but stored files */
	MADE_BY = 3 << 8 | 30, /* Unix, 3.0 */
	MODE = 0100644,        /* in the upper half of the external attributes */
	DATE = (2025 - 1980) << 9 | 1 << 5 | 1,
	COMMON_BYTES = 26, /* of both heads: from the version to the size of the extra field */
};

struct zip_file zip_file_of(const char *name, struct span bytes)
{
	return (struct zip_file){
	    .name = name, .size = (uint32_t)bytes.size, .crc = (uint32_t)crc32_z(0, bytes.at, bytes.size)};
}

/* Version, flags, method, time, date, CRC, both sizes, the name's size, that of the extra field. */
static void put_common(const struct zip_file *file, uint8_t head[COMMON_BYTES])
{
	memset(head, 0, COMMON_BYTES);
	put_le16(head, VERSION);
	put_le16(head + 8, DATE);
	put_le32(head + 10, file->crc);
	put_le32(head + 14, file->size);
	put_le32(head + 18, file->size);
	put_le16(head + 22, (uint16_t)strlen(file->name));
}

void zip_put_local(const struct zip_file *file, struct span bytes, struct buffer *out)
{
	uint8_t head[ZIP_LOCAL_BYTES] = "PK\3\4";
	put_common(file, head + 4);
	buffer_append(out, head, sizeof head);
	buffer_text(out, file->name);
	buffer_append(out, bytes.at, bytes.size);
}

void zip_put_central(const struct zip_file *file, uint32_t at, struct buffer *out)
{
	uint8_t head[ZIP_CENTRAL_BYTES] = "PK\1\2";
	put_le16(head + 4, MADE_BY);
	put_common(file, head + 6);
	put_le32(head + 38, (uint32_t)MODE << 16);
	put_le32(head + 42, at);
	buffer_append(out, head, sizeof head);
	buffer_text(out, file->name);
}

void zip_put_end(uint16_t count, uint32_t size, uint32_t at, struct buffer *out)
{
	uint8_t end[ZIP_END_BYTES] = "PK\5\6";
	put_le16(end + 8, count);
	put_le16(end + 10, count);
	put_le32(end + 12, size);
	put_le32(end + 16, at);
	buffer_append(out, end, sizeof end);
}

uint32_t zip_local_size(const struct zip_file *file)
{
	return ZIP_LOCAL_BYTES + (uint32_t)strlen(file->name) + file->size;
}

uint32_t zip_central_size(const struct zip_file *file)
{
	return ZIP_CENTRAL_BYTES + (uint32_t)strlen(file->name);
}
