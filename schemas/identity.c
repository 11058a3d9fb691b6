/* The identity file, as text that an operator can read. Its last line is a sum over all lines before it, and
 * both that line and the first keep their form in every version: a file whose sum holds but whose version is
 * another was written by another Stampede, one whose sum does not hold is damaged. */
#include "schemas/identity.h"
#include "schemas/crc32c.h"
#include "schemas/limits.h"

#include <inttypes.h>
#include <stdio.h>

enum { VERSION = 1, LINE_BYTES = 64 };

void identity_write(const struct identity *identity, struct buffer *out)
{
	char   line[LINE_BYTES];
	size_t begin = out->size;
	snprintf(line, sizeof(line), "stampede-data=%d\nlineage=", VERSION);
	buffer_text(out, line);
	for (size_t i = 0; i < sizeof(identity->lineage); i++) {
		snprintf(line, sizeof(line), "%02x", identity->lineage[i]);
		buffer_text(out, line);
	}
	snprintf(line, sizeof(line), "\nshards=%" PRIu32 "\nformatted=%d\n", identity->shards,
	         identity->formatted);
	buffer_text(out, line);
	if (out->failed) return;
	snprintf(line, sizeof(line), "crc=%08" PRIx32 "\n", crc32c(0, out->at + begin, out->size - begin));
	buffer_text(out, line);
}

/* Takes "<name>=<value>\n" off the front of `text`. */
static bool take_line(struct span *text, const char *name, struct span *value)
{
	size_t         name_size = strlen(name);
	const uint8_t *end = text->size > 0 ? memchr(text->at, '\n', text->size) : NULL;
	if (!end) return false;
	size_t size = (size_t)(end - text->at);
	if (size <= name_size || memcmp(text->at, name, name_size) != 0 || text->at[name_size] != '=')
		return false;
	*value = span_of(text->at + name_size + 1, size - name_size - 1);
	*text = span_of(end + 1, text->size - size - 1);
	return true;
}

/* Digits of `base` (10 or 16, lower case) and nothing else, as they were written: no leading zero in base 10.
 */
static bool read_number(struct span text, unsigned base, uint32_t *number)
{
	uint64_t value = 0;
	if (text.size < 1 || text.size > 10 || (base == 10 && text.size > 1 && text.at[0] == '0'))
		return false;
	for (size_t i = 0; i < text.size; i++) {
		uint8_t  letter = text.at[i];
		unsigned digit = base;
		if (letter >= '0' && letter <= '9') digit = letter - '0';
		if (letter >= 'a' && letter <= 'f') digit = letter - 'a' + 10u;
		if (digit >= base) return false;
		value = value * base + digit;
	}
	*number = (uint32_t)value;
	return value <= UINT32_MAX;
}

static bool read_lineage(struct span text, uint8_t lineage[16])
{
	if (text.size != 32) return false;
	for (size_t i = 0; i < 16; i++) {
		uint32_t byte;
		if (!read_number(span_of(text.at + 2 * i, 2), 16, &byte)) return false;
		lineage[i] = (uint8_t)byte;
	}
	return true;
}

/* Does the last line hold the sum of the lines before it? */
static bool sum_holds(struct span text)
{
	const size_t last_size = sizeof("crc=00000000\n") - 1;
	struct span  value;
	uint32_t     sum;
	if (text.size < last_size) return false;
	struct span last = span_of(text.at + text.size - last_size, last_size);
	return take_line(&last, "crc", &value) && value.size == 8 && read_number(value, 16, &sum) &&
	       sum == crc32c(0, text.at, text.size - last_size);
}

enum err identity_read(struct span text, struct identity *identity)
{
	struct span version_text, lineage, shards, formatted, sum;
	uint32_t    version;
	if (!sum_holds(text)) return ERR_DAMAGED;
	if (!take_line(&text, "stampede-data", &version_text)) return ERR_DAMAGED;
	if (!read_number(version_text, 10, &version)) return ERR_DAMAGED;
	if (version != VERSION) return ERR_UNSUPPORTED;
	if (!take_line(&text, "lineage", &lineage) || !take_line(&text, "shards", &shards) ||
	    !take_line(&text, "formatted", &formatted) || !take_line(&text, "crc", &sum) || text.size > 0)
		return ERR_DAMAGED;
	struct identity read = {.formatted = span_is(formatted, "1")};
	if (!read.formatted && !span_is(formatted, "0")) return ERR_DAMAGED;
	if (!read_lineage(lineage, read.lineage) || !read_number(shards, 10, &read.shards))
		return ERR_DAMAGED;
	if (read.shards < 1 || read.shards > SHARDS_MAX) return ERR_DAMAGED;
	*identity = read;
	return OK;
}
