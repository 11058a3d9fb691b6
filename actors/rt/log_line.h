#pragma once
#include "schemas/span.h"

#include <stdarg.h>

/* One line of a log, built key by key in one of two formats:
 *   LOG_LOGFMT  time=… level=info event=ready http=127.0.0.1:8080 reason="with spaces"
 *   LOG_JSON    {"time":"…","level":"info","event":"ready","http":"127.0.0.1:8080"}: values are strings, integers or null
 * Whatever bytes a value has, the line stays one valid line: quotes are escaped, control characters and those that turn the
 * direction of text are escaped in JSON and become ? in logfmt, and invalid UTF-8 is replaced in JSON. A line has at most
 * LOG_LINE_BYTES_MAX bytes, below PIPE_BUF, so that a pipe takes it whole or not at all: longer values are cut, and later keys
 * are left out. Keys are the program's own words. Pure, except for the caller's memory. Errors: none. */
enum log_format { LOG_LOGFMT, LOG_JSON };
enum { LOG_LINE_BYTES_MAX = 2048, LOG_VALUE_BYTES_MAX = 1024 };

struct log_line {
	enum log_format format;
	bool            full;
	size_t          size;
	char            text[LOG_LINE_BYTES_MAX];
};

void log_line_begin(struct log_line *line, enum log_format format);
void log_line_text(struct log_line *line, const char *key, struct span value);
void log_line_number(struct log_line *line, const char *key, int64_t value);
void log_line_null(struct log_line *line, const char *key); /* logfmt has no null: an empty value */

/* key=value pairs as for printf: `pass=%s code=%d reason="no %s"`. A pair ends at the next blank, or at its second quote; the
 * content of an argument never begins another. Conversions: d i u x c s, with h l ll z and a precision for s; any other ends
 * the line there. A single unquoted integer is a number. */
void log_line_format(struct log_line *line, const char *format, va_list values);

/* Ends the line with its newline. Valid as long as `line`. */
struct span log_line_end(struct log_line *line);
