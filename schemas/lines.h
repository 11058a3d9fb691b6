#pragma once
#include "schemas/buffer.h"

/* Small text files for operators: one `name=value` a line. The first line is `KIND=VERSION`, the last one `crc=<8
 * hex>`, a CRC-32C over all lines before it; both keep their form in every version. Numbers have one spelling: no
 * sign, no leading zero. Units: bytes. */
void lines_text(struct buffer *out, const char *name, const char *value);
void lines_number(struct buffer *out, const char *name, uint64_t value);
void lines_hex(struct buffer *out, const char *name, const uint8_t *bytes, size_t size);
void lines_end(struct buffer *out); /* adds the checksum over the whole buffer */

/* Reading: line by line, by name. A missing or malformed line reads as zero, and lines_finish() reports it once. */
struct lines {
	struct span left;
	bool        failed;
};

/* The version in the first line of a whole text of that kind; false: it is none, or its checksum does not hold. */
bool lines_version(struct span text, const char *kind, uint64_t *version);

/* Errors: ERR_DAMAGED (the checksum, or no such file), ERR_UNSUPPORTED (another version). */
must_check enum err lines_begin(struct lines *lines, struct span text, const char *kind, uint64_t version);
struct span         lines_take_text(struct lines *lines, const char *name);
uint64_t            lines_take_number(struct lines *lines, const char *name);
void                lines_take_hex(struct lines *lines, const char *name, uint8_t *bytes, size_t size);
must_check enum err
lines_finish(const struct lines *lines); /* Errors: ERR_DAMAGED: a line was malformed, or is left over. */

/* Exactly 2 * size lower-case hexadecimal digits; false otherwise. */
bool hex_read(struct span text, uint8_t *bytes, size_t size);
void hex_text(const uint8_t *bytes, size_t size, char *text); /* 2 * size + 1 bytes, NUL-terminated */
