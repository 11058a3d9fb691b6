/* Explains why a text was refused as JSON. A second reader, which builds nothing and tracks its position, reads it
 * again, so only refused requests pay for it. Bytes that are not JSON at all, such as a compressed body, are
 * identified. */
#include "schemas/json.h"
#include "schemas/limits.h"

#include <ctype.h>

/* ---- other encodings and forms ---- */

static bool begins_with(struct span text, const char *bytes, size_t size)
{
	return text.size >= size && memcmp(text.at, bytes, size) == 0;
}

static enum cause cause_of(struct reason *reason, enum cause cause, const char *given)
{
	reason->given = span_str(given);
	return cause;
}

/* UTF-16: every other byte of ASCII text is zero. */
static bool is_wide(struct span text)
{
	return begins_with(text, "\xff\xfe", 2) || begins_with(text, "\xfe\xff", 2) ||
	       (text.size >= 2 && !text.at[0] != !text.at[1]);
}

static enum cause of_encoding(struct span text, struct reason *reason)
{
	static const struct {
		const char *bytes;
		size_t      size;
		enum cause  cause;
		const char *given;
	} marks[] = {
	    {"\xef\xbb\xbf", 3, CAUSE_BODY_MARKED, ""},
	    {"\xff\xfe\0\0", 4, CAUSE_BODY_ENCODED, "UTF-32"},
	    {"\0\0\xfe\xff", 4, CAUSE_BODY_ENCODED, "UTF-32"},
	    {"\x1f\x8b", 2, CAUSE_BODY_COMPRESSED, "gzip"},
	    {"\x28\xb5\x2f\xfd", 4, CAUSE_BODY_COMPRESSED, "zstd"},
	    {"PK\3\4", 4, CAUSE_BODY_COMPRESSED, "zip"},
	    {"\x78\x01", 2, CAUSE_BODY_COMPRESSED, "deflate"},
	    {"\x78\x9c", 2, CAUSE_BODY_COMPRESSED, "deflate"},
	    {"\x78\xda", 2, CAUSE_BODY_COMPRESSED, "deflate"},
	};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (begins_with(text, marks[i].bytes, marks[i].size))
			return cause_of(reason, marks[i].cause, marks[i].given);
	return is_wide(text) ? cause_of(reason, CAUSE_BODY_ENCODED, "UTF-16") : CAUSE_NONE;
}

/* "name=value": no JSON begins with a name. */
static enum cause of_form(struct span text, size_t at, struct reason *reason)
{
	size_t end = at;
	if (begins_with(span_of(text.at + at, text.size - at), "--", 2))
		return cause_of(reason, CAUSE_BODY_FORM, "a multipart form");
	if (text.at[at] == '<') return cause_of(reason, CAUSE_BODY_FORM, "XML or HTML");
	while (end < text.size && (isalnum(text.at[end]) || strchr("_.-%+[]", text.at[end])))
		end++;
	bool has_name = end > at && end < text.size && text.at[end] == '=';
	return has_name ? cause_of(reason, CAUSE_BODY_FORM, "a form (name=value)") : CAUSE_NONE;
}

/* ---- JSON ---- */

enum wish { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, COMMA_OR_END, NOTHING };

struct walk {
	struct span text;
	size_t      at;
	enum wish   wish;
	bool        after_comma;
	unsigned    depth;
	char        ends[JSON_DEPTH_MAX]; /* the closing character of each container, outermost first */
};

static int byte_at(const struct walk *walk, size_t at)
{
	return at < walk->text.size ? walk->text.at[at] : -1;
}

static void after_value(struct walk *walk)
{
	walk->wish = walk->depth ? COMMA_OR_END : NOTHING;
	walk->after_comma = false;
}

static enum cause take_escape(struct walk *walk)
{
	int c = byte_at(walk, walk->at + 1);
	if (c < 0) return CAUSE_BODY_CUT;
	if (!c || !strchr("\"\\/bfnrtu", c)) return CAUSE_BODY_ESCAPE;
	for (size_t i = 2; c == 'u' && i < 6; i++) {
		int digit = byte_at(walk, walk->at + i);
		if (digit < 0) return CAUSE_BODY_CUT;
		if (!isxdigit(digit)) return CAUSE_BODY_ESCAPE;
	}
	walk->at += c == 'u' ? 6 : 2;
	return CAUSE_NONE;
}

static enum cause take_string(struct walk *walk)
{
	enum cause cause = CAUSE_NONE;
	walk->at++;
	while (!cause) {
		int c = byte_at(walk, walk->at);
		if (c < 0) return CAUSE_BODY_CUT;
		if (c < ' ') return CAUSE_BODY_CONTROL;
		if (c == '\\')
			cause = take_escape(walk);
		else
			walk->at++;
		if (c == '"') break;
	}
	return cause;
}

static size_t count_digits(const struct walk *walk, size_t at)
{
	size_t count = 0;
	while (isdigit(byte_at(walk, at + count)))
		count++;
	return count;
}

static enum cause take_number(struct walk *walk)
{
	size_t at = byte_at(walk, walk->at) == '-' ? walk->at + 1 : walk->at, digits = count_digits(walk, at);
	bool   good = digits == 1 || (digits > 1 && byte_at(walk, at) != '0');
	at += digits;
	if (byte_at(walk, at) == '.') {
		digits = count_digits(walk, ++at);
		good = good && digits;
		at += digits;
	}
	if ((byte_at(walk, at) | 0x20) == 'e') {
		bool has_sign = byte_at(walk, at + 1) == '+' || byte_at(walk, at + 1) == '-';
		at += has_sign ? 2 : 1;
		digits = count_digits(walk, at);
		good = good && digits;
		at += digits;
	}
	if (!good) return at >= walk->text.size ? CAUSE_BODY_CUT : CAUSE_BODY_NUMBER;
	walk->at = at;
	return CAUSE_NONE;
}

static enum cause take_word(struct walk *walk)
{
	static const char *const words[] = {"true", "false", "null"};
	struct span              rest = span_of(walk->text.at + walk->at, walk->text.size - walk->at);
	for (unsigned i = 0; i < 3; i++) {
		size_t size = strlen(words[i]);
		if (begins_with(rest, words[i], size)) {
			walk->at += size;
			return CAUSE_NONE;
		}
		if (rest.size < size && memcmp(rest.at, words[i], rest.size) == 0) return CAUSE_BODY_CUT;
	}
	return CAUSE_BODY_SYNTAX;
}

static enum cause open_container(struct walk *walk, bool object)
{
	if (walk->depth == JSON_DEPTH_MAX) return CAUSE_BODY_DEEP;
	walk->ends[walk->depth++] = object ? '}' : ']';
	walk->wish = object ? KEY_OR_END : VALUE_OR_END;
	walk->after_comma = false;
	walk->at++;
	return CAUSE_NONE;
}

static enum cause close_container(struct walk *walk)
{
	walk->depth--;
	walk->at++;
	after_value(walk);
	return CAUSE_NONE;
}

static bool is_end(const struct walk *walk, int c)
{
	return walk->depth && c == walk->ends[walk->depth - 1];
}

static enum cause take_value(struct walk *walk, int c)
{
	enum cause cause;
	if (walk->wish == VALUE_OR_END && is_end(walk, c)) return close_container(walk);
	if (walk->after_comma && (c == ',' || is_end(walk, c))) return CAUSE_BODY_COMMA;
	if (c == '\'') return CAUSE_BODY_QUOTES;
	if (c == '{' || c == '[') return open_container(walk, c == '{');
	if (c == '"')
		cause = take_string(walk);
	else if (isdigit(c) || c == '-' || c == '+' || c == '.')
		cause = take_number(walk);
	else
		cause = take_word(walk);
	after_value(walk);
	return cause;
}

static enum cause take_key(struct walk *walk, int c)
{
	if (walk->wish == KEY_OR_END && is_end(walk, c)) return close_container(walk);
	if (walk->after_comma && (c == ',' || is_end(walk, c))) return CAUSE_BODY_COMMA;
	if (c == '\'' || c == '_' || isalpha(c)) return CAUSE_BODY_QUOTES;
	if (c != '"') return CAUSE_BODY_SYNTAX;
	walk->wish = COLON;
	return take_string(walk);
}

static enum cause take_mark(struct walk *walk, int c)
{
	if (walk->wish == NOTHING) return CAUSE_BODY_BEHIND;
	if (walk->wish == COLON) {
		walk->wish = VALUE;
		walk->after_comma = false;
		return c == ':' ? (walk->at++, CAUSE_NONE) : CAUSE_BODY_SYNTAX;
	}
	if (is_end(walk, c)) return close_container(walk);
	if (c != ',') return CAUSE_BODY_SYNTAX;
	walk->wish = walk->ends[walk->depth - 1] == '}' ? KEY : VALUE;
	walk->after_comma = true;
	walk->at++;
	return CAUSE_NONE;
}

static void skip_blanks(struct walk *walk)
{
	while (walk->at < walk->text.size && strchr(" \t\r\n", walk->text.at[walk->at]) &&
	       walk->text.at[walk->at])
		walk->at++;
}

/* CAUSE_NONE: it is JSON. Otherwise walk->at is the position of the error. */
static enum cause walk_through(struct walk *walk)
{
	enum cause cause = CAUSE_NONE;
	while (!cause) {
		skip_blanks(walk);
		int c = byte_at(walk, walk->at);
		if (c < 0) return walk->wish == NOTHING ? CAUSE_NONE : CAUSE_BODY_CUT;
		if (walk->wish == VALUE || walk->wish == VALUE_OR_END)
			cause = take_value(walk, c);
		else if (walk->wish == KEY || walk->wish == KEY_OR_END)
			cause = take_key(walk, c);
		else
			cause = take_mark(walk, c);
	}
	return cause;
}

/* ---- escapes ---- */

/* The four hex digits of a \u escape whose backslash is at `at`; -1 if it is not one. */
static int escape_unit(const uint8_t *at, const uint8_t *end)
{
	if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
	int unit = 0;
	for (int i = 2; i < 6; i++) {
		uint8_t c = at[i];
		int     digit = c >= '0' && c <= '9'   ? c - '0'
		                : c >= 'a' && c <= 'f' ? c - 'a' + 10
		                : c >= 'A' && c <= 'F' ? c - 'A' + 10
		                                       : -1;
		if (digit < 0) return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

/* Surrogate escapes come in pairs, high then low. A backslash is legal only inside strings, so the raw text can be
 * searched without tracking strings; yajl refuses backslashes elsewhere. */
size_t lone_surrogate_at(struct span text)
{
	const uint8_t *at = text.at, *end = text.at + text.size;
	while ((at = memchr(at, '\\', (size_t)(end - at)))) {
		int unit = escape_unit(at, end);
		if (unit < 0xd800 || unit > 0xdfff) {
			at += end - at < 2 ? 1 : 2;
			continue;
		}
		int low = unit <= 0xdbff ? escape_unit(at + 6, end) : -1;
		if (low < 0xdc00 || low > 0xdfff) return (size_t)(at - text.at);
		at += 12;
	}
	return text.size;
}

/* ---- all ---- */

/* Lines and columns from 1, columns in characters. */
static void place(struct span text, size_t at, struct reason *reason)
{
	reason->least = reason->most = 1;
	for (size_t i = 0; i < at && i < text.size; i++) {
		bool is_lf = text.at[i] == '\n';
		reason->least += is_lf;
		reason->most = is_lf ? 1 : reason->most + ((text.at[i] & 0xc0) != 0x80);
	}
}

/* The one character at `at`: the bytes behind it may be anything. */
static struct span character(struct span text, size_t at)
{
	size_t size = at < text.size;
	while (size && at + size < text.size && (text.at[at + size] & 0xc0) == 0x80)
		size++;
	return span_of(text.at + at, size);
}

void json_explain(struct span text, struct reason *reason)
{
	struct walk walk = {.text = text};
	size_t      valid = utf8_valid_size(text);
	reason->cause = CAUSE_BODY_EMPTY;
	skip_blanks(&walk);
	if (walk.at == text.size || (reason->cause = of_encoding(text, reason))) return;
	reason->least = (int64_t)valid;
	reason->cause = CAUSE_BODY_NO_UTF8;
	if (valid < text.size || (reason->cause = of_form(text, walk.at, reason))) return;
	reason->cause = walk_through(&walk);
	reason->given = character(text, walk.at);
	place(text, walk.at, reason);
	if (reason->cause == CAUSE_BODY_DEEP) reason->most = JSON_DEPTH_MAX;
	if (reason->cause) return;
	size_t lone = lone_surrogate_at(text);
	reason->least = (int64_t)lone;
	if (lone < text.size) reason->cause = CAUSE_BODY_SURROGATE;
}
