/* Lines of `name=value` under a checksum. The order of lines is part of a file's form, so reading takes them one by
 * one and refuses every other text. */
#include "schemas/lines.h"

#include "schemas/bytes.h"
#include "schemas/crc32c.h"

#include <inttypes.h>
#include <stdio.h>

enum { NUMBER_TEXT = 32, LAST_LINE = sizeof("crc=00000000\n") - 1 };

void lines_text(struct buffer *out, const char *name, const char *value)
{
	buffer_text(out, name);
	buffer_byte(out, '=');
	buffer_text(out, value);
	buffer_byte(out, '\n');
}

void lines_number(struct buffer *out, const char *name, uint64_t value)
{
	char text[NUMBER_TEXT];
	snprintf(text, sizeof text, "%" PRIu64, value);
	lines_text(out, name, text);
}

void hex_text(const uint8_t *bytes, size_t size, char *text)
{
	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	text[2 * size] = 0;
}

void lines_hex(struct buffer *out, const char *name, const uint8_t *bytes, size_t size)
{
	char digits[3];
	buffer_text(out, name);
	buffer_byte(out, '=');
	for (size_t i = 0; i < size; i++) {
		hex_text(bytes + i, 1, digits);
		buffer_text(out, digits);
	}
	buffer_byte(out, '\n');
}

void lines_end(struct buffer *out)
{
	uint8_t sum[4];
	if (out->failed) return;
	put_be32(sum, crc32c(0, out->at, out->size));
	lines_hex(out, "crc", sum, sizeof sum);
}

static int digit_of(uint8_t letter)
{
	if (letter >= '0' && letter <= '9') return letter - '0';
	return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

bool hex_read(struct span text, uint8_t *bytes, size_t size)
{
	if (text.size != 2 * size) return false;
	for (size_t i = 0; i < size; i++) {
		int high = digit_of(text.at[2 * i]), low = digit_of(text.at[2 * i + 1]);
		if (high < 0 || low < 0) return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool number_read(struct span text, uint64_t *value)
{
	*value = 0;
	if (text.size < 1 || (text.size > 1 && text.at[0] == '0')) return false;
	for (size_t i = 0; i < text.size; i++) {
		if (text.at[i] < '0' || text.at[i] > '9') return false;
		if (__builtin_mul_overflow(*value, (uint64_t)10, value)) return false;
		if (__builtin_add_overflow(*value, (uint64_t)(text.at[i] - '0'), value)) return false;
	}
	return true;
}

struct span lines_take_text(struct lines *lines, const char *name)
{
	struct span    left = lines->left;
	size_t         name_size = strlen(name);
	const uint8_t *end = left.size ? memchr(left.at, '\n', left.size) : NULL;
	size_t         size = end ? (size_t)(end - left.at) : 0;
	bool is_it = size > name_size && !memcmp(left.at, name, name_size) && left.at[name_size] == '=';
	if (!is_it || lines->failed) {
		lines->failed = true;
		return span_of(NULL, 0);
	}
	lines->left = span_of(end + 1, left.size - size - 1);
	return span_of(left.at + name_size + 1, size - name_size - 1);
}

uint64_t lines_take_number(struct lines *lines, const char *name)
{
	uint64_t value;
	if (number_read(lines_take_text(lines, name), &value)) return value;
	lines->failed = true;
	return 0;
}

void lines_take_hex(struct lines *lines, const char *name, uint8_t *bytes, size_t size)
{
	if (hex_read(lines_take_text(lines, name), bytes, size)) return;
	memset(bytes, 0, size);
	lines->failed = true;
}

/* Opens a whole text and takes its first line. */
static bool open_whole(struct lines *lines, struct span text, const char *kind, uint64_t *version)
{
	uint8_t sum[4];
	if (text.size < LAST_LINE) return false;
	struct span  body = span_of(text.at, text.size - LAST_LINE);
	struct lines last = {.left = span_of(text.at + body.size, LAST_LINE)};
	lines_take_hex(&last, "crc", sum, sizeof sum);
	if (last.failed || last.left.size || get_be32(sum) != crc32c(0, body.at, body.size)) return false;
	*lines = (struct lines){.left = body};
	*version = lines_take_number(lines, kind);
	return !lines->failed;
}

bool lines_version(struct span text, const char *kind, uint64_t *version)
{
	struct lines lines;
	return open_whole(&lines, text, kind, version);
}

enum err lines_begin(struct lines *lines, struct span text, const char *kind, uint64_t version)
{
	uint64_t found;
	if (!open_whole(lines, text, kind, &found)) return ERR_DAMAGED;
	return found == version ? OK : ERR_UNSUPPORTED;
}

enum err lines_finish(const struct lines *lines)
{
	return lines->failed || lines->left.size ? ERR_DAMAGED : OK;
}
