#pragma once
#include "schemas/buffer.h"

/* Small files that an operator can read: text, one `name=value` a line. The first line is `KIND=VERSION`, the last one
 * `crc=<8 hex>`, a CRC-32C over the bytes of all lines before it; both keep their form in every version. Numbers are as
 * they were written: no sign, no leading zero. Units: bytes. */
void lines_text(struct buffer *out, const char *name, const char *value);
void lines_number(struct buffer *out, const char *name, uint64_t value);
void lines_hex(struct buffer *out, const char *name, const uint8_t *bytes, size_t size);
void lines_end(struct buffer *out); /* adds the sum over the whole buffer */

/* Reading: each line in its turn, by its name. What is not there or not of the form reads as zero, and lines_finish()
 * says so once at the end. */
struct lines {
	struct span left;
	bool        failed;
};

/* Errors: ERR_DAMAGED (the sum, or no such file), ERR_UNSUPPORTED (another version). */
must_check enum err lines_begin(struct lines *lines, struct span text, const char *kind, uint64_t version);
struct span         lines_take_text(struct lines *lines, const char *name);
uint64_t            lines_take_number(struct lines *lines, const char *name);
void                lines_take_hex(struct lines *lines, const char *name, uint8_t *bytes, size_t size);
must_check enum err
lines_finish(const struct lines *lines); /* Errors: ERR_DAMAGED: a line was wrong, or is left over. */

/* Exactly 2 * size lower-case hexadecimal digits; false when the text is not. */
bool hex_read(struct span text, uint8_t *bytes, size_t size);
void hex_text(const uint8_t *bytes, size_t size, char *text); /* 2 * size + 1 bytes, NUL-terminated */
