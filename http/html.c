/* Escaping by runs: most text needs none, so whole runs are copied. Only bytes that may begin something forbidden are decoded. */
#include "http/html.h"

static const char replacement[] = "\xef\xbf\xbd";

/* The replacement of a byte; NULL: itself, as far as one byte shows. */
static const char *entity(uint8_t c)
{
	switch (c) {
	case '&': return "&amp;";
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	case '\t':
	case '\n':
	case '\r': return NULL;
	default: return c < 0x20 || c == 0x7f ? replacement : NULL;
	}
}

/* The character that begins at `at`, with `left` bytes of valid UTF-8. */
static uint32_t decode(const uint8_t *at, size_t left, size_t *size)
{
	static const uint8_t sizes[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4},
	                     heads[] = {0x7f, 0x7f, 0x1f, 0x0f, 7};
	*size = sizes[at[0] >> 4];
	if (*size > left) *size = left;
	uint32_t character = at[0] & heads[*size];
	for (size_t i = 1; i < *size; i++)
		character = character << 6 | (at[i] & 0x3f);
	return character;
}

static bool is_forbidden(uint32_t character)
{
	return (character >= 0x80 && character < 0xa0) || (character >= 0xfdd0 && character < 0xfdf0) ||
	       (character & 0xfffe) == 0xfffe;
}

static bool turns_direction(uint32_t character)
{
	return character == 0x61c || character == 0x200e || character == 0x200f ||
	       (character >= 0x202a && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}

static void put(struct buffer *out, struct span text, bool keep_turns)
{
	size_t run = 0, size;
	for (size_t i = 0; i < text.size; i += size) {
		const char *instead = NULL;
		size = 1;
		if (text.at[i] < 0x80) {
			instead = entity(text.at[i]);
		} else {
			uint32_t character = decode(text.at + i, text.size - i, &size);
			if (is_forbidden(character)) instead = replacement;
			if (!keep_turns && turns_direction(character)) instead = "";
		}
		if (!instead) continue;
		buffer_append(out, text.at + run, i - run);
		buffer_text(out, instead);
		run = i + size;
	}
	buffer_append(out, text.at + run, text.size - run);
}

void html_text(struct buffer *out, struct span text)
{
	put(out, text, true);
}

void html_apart(struct buffer *out, struct span text)
{
	buffer_text(out, "<bdi>");
	put(out, text, true);
	buffer_text(out, "</bdi>");
}

void html_plain(struct buffer *out, struct span text)
{
	put(out, text, false);
}

/* Brackets are allowed around an IPv6 host only. */
static bool may_stand_in_url(uint8_t c, bool in_host)
{
	if (c == '[' || c == ']') return in_host;
	return c > ' ' && c < 0x7f && !strchr("\"<>\\^`{|}", c);
}

void html_url(struct buffer *out, struct span url)
{
	static const char digits[] = "0123456789ABCDEF";
	unsigned          slashes = 0; /* the third one ends the host, as do `?` and `#` */
	for (size_t i = 0; i < url.size; i++) {
		uint8_t c = url.at[i];
		slashes += c == '/' ? 1 : c == '?' || c == '#' ? 3 : 0;
		if (may_stand_in_url(c, slashes < 3)) {
			html_text(out, span_of(&c, 1));
			continue;
		}
		buffer_byte(out, '%');
		buffer_byte(out, (uint8_t)digits[c >> 4]);
		buffer_byte(out, (uint8_t)digits[c & 15]);
	}
}
