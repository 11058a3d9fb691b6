/* A line of a log. A value is first collected as plain bytes and then written in the line's format. So the formats differ in
 * one place only, and no byte of a value is taken for punctuation. */
#include "actors/rt/log_line.h"
#include "schemas/json.h"

#include <inttypes.h>
#include <stdio.h>

/* Reserved for the end: a quote, a brace, the newline. */
enum { END_BYTES = 3, ESCAPE_BYTES_MAX = 6 };

struct value {
	char   text[LOG_VALUE_BYTES_MAX];
	size_t size;
	bool   quoted; /* the format has quotes around it */
	bool   worded; /* part of it is not an integer */
};

static bool has_room(const struct log_line *line, size_t size)
{
	return line->size + size + END_BYTES <= sizeof line->text;
}

static void put(struct log_line *line, const char *text, size_t size)
{
	memcpy(line->text + line->size, text, size);
	line->size += size;
}

/* ---- one character of a value ---- */

/* A terminal that shows the log would obey these, and values are a stranger's. */
static bool is_kept_out(uint32_t point)
{
	return utf8_is_control(point) || utf8_turns_direction(point);
}

/* Writes the first character of `rest` in JSON; returns how many bytes of the value it had. */
static size_t escape_json(struct span rest, char text[ESCAPE_BYTES_MAX + 1], size_t *size)
{
	uint32_t point;
	size_t   own = utf8_character(rest, &point);
	if (own == 0) {
		memcpy(text, "\xef\xbf\xbd", *size = 3); /* U+FFFD */
		return 1;
	}
	if (point == '"' || point == '\\')
		*size = (size_t)snprintf(text, ESCAPE_BYTES_MAX + 1, "\\%c", *rest.at);
	else if (is_kept_out(point))
		*size = (size_t)snprintf(text, ESCAPE_BYTES_MAX + 1, "\\u%04x", point & 0xffff);
	else
		memcpy(text, rest.at, *size = own);
	return own;
}

/* A byte of no character stays, unless a terminal of one byte a character would obey it. */
static size_t escape_logfmt(struct span rest, bool quoted, char text[ESCAPE_BYTES_MAX + 1], size_t *size)
{
	uint32_t point;
	size_t   own = utf8_character(rest, &point);
	if (own == 0) own = 1;
	*size = 0;
	if (is_kept_out(point)) {
		text[(*size)++] = '?';
		return own;
	}
	if (quoted && (point == '"' || point == '\\')) text[(*size)++] = '\\';
	memcpy(text + *size, rest.at, own);
	*size += own;
	return own;
}

static bool wants_quotes(struct span value)
{
	for (size_t i = 0; i < value.size; i++)
		if (value.at[i] == ' ' || value.at[i] == '"' || value.at[i] == '=' || value.at[i] == '\\')
			return true;
	return false;
}

/* ---- pairs ---- */

/* False: there is no room for another pair. */
static bool begin_pair(struct log_line *line, const char *key, size_t key_size)
{
	bool json = line->format == LOG_JSON, first = line->size == (json ? 1 : 0);
	if (line->full || !has_room(line, key_size + 8)) {
		line->full = true;
		return false;
	}
	if (!first) put(line, json ? "," : " ", 1);
	if (json) put(line, "\"", 1);
	put(line, key, key_size);
	put(line, json ? "\":" : "=", json ? 2 : 1);
	return true;
}

static void put_text(struct log_line *line, struct span value, bool quoted)
{
	bool json = line->format == LOG_JSON;
	if (json || quoted) put(line, "\"", 1);
	for (size_t i = 0, size = 0; i < value.size && !line->full;) {
		char        text[ESCAPE_BYTES_MAX + 1];
		struct span rest = span_of(value.at + i, value.size - i);
		size_t      taken = json ? escape_json(rest, text, &size)
		                         : escape_logfmt(rest, quoted, text, &size);
		line->full = !has_room(line, size);
		if (!line->full) put(line, text, size);
		i += taken;
	}
	if (json || quoted) put(line, "\"", 1);
}

void log_line_begin(struct log_line *line, enum log_format format)
{
	line->format = format;
	line->full = false;
	line->size = 0;
	if (format == LOG_JSON) put(line, "{", 1);
}

void log_line_text(struct log_line *line, const char *key, struct span value)
{
	if (begin_pair(line, key, strlen(key))) put_text(line, value, wants_quotes(value));
}

void log_line_number(struct log_line *line, const char *key, int64_t value)
{
	char text[24];
	int  size = snprintf(text, sizeof text, "%" PRId64, value);
	if (!has_room(line, strlen(key) + 8 + sizeof text)) line->full = true;
	if (begin_pair(line, key, strlen(key))) put(line, text, (size_t)size);
}

void log_line_null(struct log_line *line, const char *key)
{
	if (begin_pair(line, key, strlen(key)) && line->format == LOG_JSON) put(line, "null", 4);
}

struct span log_line_end(struct log_line *line)
{
	if (line->format == LOG_JSON) put(line, "}", 1);
	put(line, "\n", 1);
	return span_of(line->text, line->size);
}

/* ---- printf's pairs ---- */

static void gather(struct value *value, const char *text, size_t size)
{
	size_t room = sizeof value->text - value->size;
	if (size > room) size = room;
	memcpy(value->text + value->size, text, size);
	value->size += size;
}

struct conversion {
	int  precision; /* -1: none */
	int  longs;     /* of ll, l; z counts as two */
	int  width;     /* of an octal number, padded with zeros */
	char kind;
};

/* Reads a conversion after its percent sign; returns what follows it. A precision of * is an argument. */
static const char *read_conversion(const char *at, va_list *values, struct conversion *found)
{
	*found = (struct conversion){.precision = -1};
	for (; *at >= '0' && *at <= '9'; at++)
		found->width = found->width * 10 + *at - '0';
	if (*at == '.' && at[1] == '*') {
		found->precision = va_arg(*values, int);
		at += 2;
	} else if (*at == '.') {
		for (found->precision = 0, at++; *at >= '0' && *at <= '9'; at++)
			found->precision = found->precision * 10 + *at - '0';
	}
	for (; *at == 'l' || *at == 'z' || *at == 'h'; at++)
		found->longs += *at == 'l' ? 1 : *at == 'z' ? 2 : 0;
	found->kind = *at;
	return *at ? at + 1 : at;
}

static void gather_text(struct value *value, const struct conversion *conversion, const char *text)
{
	if (!text) text = "(null)";
	gather(value, text,
	       conversion->precision < 0 ? strlen(text) : strnlen(text, (size_t)conversion->precision));
}

/* long, long long and size_t have the same size here. */
_Static_assert(sizeof(long) == sizeof(long long) && sizeof(size_t) == sizeof(long),
               "one kind of wide integer");

static void gather_integer(struct value *value, const struct conversion *conversion, va_list *values)
{
	char     text[24];
	bool     is_signed = conversion->kind == 'd' || conversion->kind == 'i';
	int64_t  number = 0;
	uint64_t count = 0;
	if (is_signed)
		number = conversion->longs ? va_arg(*values, long) : va_arg(*values, int);
	else
		count = conversion->longs ? va_arg(*values, unsigned long) : va_arg(*values, unsigned);
	int size = is_signed                 ? snprintf(text, sizeof text, "%" PRId64, number)
	           : conversion->kind == 'x' ? snprintf(text, sizeof text, "%" PRIx64, count)
	           : conversion->kind == 'o'
	               ? snprintf(text, sizeof text, "%0*" PRIo64, conversion->width % 20, count)
	               : snprintf(text, sizeof text, "%" PRIu64, count);
	gather(value, text, (size_t)size);
	value->worded |= conversion->kind == 'x' || conversion->kind == 'o';
}

/* NULL: an unsupported conversion; the types of later arguments are then unknown. */
static const char *gather_conversion(struct value *value, const char *at, va_list *values)
{
	struct conversion conversion;
	at = read_conversion(at, values, &conversion);
	if (conversion.kind == 's') {
		gather_text(value, &conversion, va_arg(*values, const char *));
		value->worded = true;
	} else if (conversion.kind == 'c') {
		char c = (char)va_arg(*values, int);
		gather(value, &c, 1);
		value->worded = true;
	} else if (conversion.kind && strchr("dioux", conversion.kind)) {
		gather_integer(value, &conversion, values);
	} else {
		return NULL;
	}
	return at;
}

/* Collects the value after a key's equals sign; returns what follows it; NULL: the line ends here. */
static const char *gather_value(struct value *value, const char *at, va_list *values)
{
	*value = (struct value){.size = 0};
	value->quoted = *at == '"';
	if (value->quoted) at++;
	while (at && *at && *at != (value->quoted ? '"' : ' ')) {
		if (*at == '%') {
			at = gather_conversion(value, at + 1, values);
			continue;
		}
		value->worded |= !(*at >= '0' && *at <= '9');
		gather(value, at++, 1);
	}
	return at && value->quoted && *at ? at + 1 : at;
}

static void put_value(struct log_line *line, const struct value *value)
{
	struct span text = span_of(value->text, value->size);
	bool        number = !value->quoted && !value->worded && value->size;
	if (number && has_room(line, value->size))
		put(line, value->text, value->size);
	else
		put_text(line, text, value->quoted || wants_quotes(text));
}

void log_line_format(struct log_line *line, const char *format, va_list values)
{
	va_list      rest;
	struct value value;
	va_copy(rest, values);
	for (const char *at = format; at && *at;) {
		size_t key_size = strcspn(at, "= ");
		if (at[key_size] != '=') {
			at += key_size + (at[key_size] == ' ');
			continue;
		}
		const char *key = at;
		at = gather_value(&value, at + key_size + 1, &rest);
		if (begin_pair(line, key, key_size)) put_value(line, &value);
	}
	va_end(rest);
}
