#pragma once
#include "schemas/buffer.h"

/* A ZIP archive of files that are stored as they are, in pieces: the heads of a file depend on its bytes alone, and on where it
 * begins. All have one date, so that the same files make the same bytes. Pure. Units: bytes. Errors: the buffer's.
 * Archive: for each file its local head and bytes, then for each its central head, then the end.
 * Source: PKWARE's APPNOTE, version 2.0 of the format; no archive of ours reaches 4 GiB or 65,535 files. */
enum {
	ZIP_LOCAL_BYTES = 30,   /* of a local head, without the name */
	ZIP_CENTRAL_BYTES = 46, /* of a central one, likewise */
	ZIP_END_BYTES = 22,
};

/* A file, as its heads need it. */
struct zip_file {
	const char *name;
	uint32_t    size, crc;
};

/* The file that has these bytes. Errors: none. */
struct zip_file zip_file_of(const char *name, struct span bytes);

void zip_put_local(const struct zip_file *file, struct span bytes, struct buffer *out);
/* `at`: where its local head begins in the archive. */
void zip_put_central(const struct zip_file *file, uint32_t at, struct buffer *out);
/* `size`: of all central heads; `at`: where the first of them begins. */
void zip_put_end(uint16_t count, uint32_t size, uint32_t at, struct buffer *out);

/* The bytes of a file in the part of local heads, and in that of central ones. */
uint32_t zip_local_size(const struct zip_file *file);
uint32_t zip_central_size(const struct zip_file *file);
