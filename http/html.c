/* Escaping by runs: most text needs none, so whole runs are copied. Only bytes that may begin something forbidden are decoded. */
#include "http/html.h"
#include "schemas/json.h"

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
	default: return utf8_is_control(c) ? replacement : NULL;
	}
}

static bool is_forbidden(uint32_t character)
{
	return utf8_is_control(character) || (character >= 0xfdd0 && character < 0xfdf0) ||
	       (character & 0xfffe) == 0xfffe;
}

static void put(struct buffer *out, struct span text, bool keep_turns)
{
	size_t   run = 0, size;
	uint32_t character;
	for (size_t i = 0; i < text.size; i += size) {
		const char *instead = NULL;
		size = 1;
		if (text.at[i] < 0x80) {
			instead = entity(text.at[i]);
		} else {
			size = utf8_character(span_of(text.at + i, text.size - i), &character);
			if (!size) size = 1;
			if (is_forbidden(character)) instead = replacement;
			if (!keep_turns && utf8_turns_direction(character)) instead = "";
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
