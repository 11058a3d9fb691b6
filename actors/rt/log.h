#pragma once

/* One event, one line on stderr: `time=… level=… role=… index=… pid=… event=… key=value…`.
 * Words: info (a fact), warn (we went on), fatal (the operator must act), panic (the programmer must; such a line, from
 * schemas/err.c, has only level, event, what and at).
 * `format` gives the rest as key=value pairs, printf style; values with spaces are the caller's to quote.
 * No secret, key or holder's data. Safe from any thread: a line is one write(). Errors: none. */
void log_open(const char *role, int index);
void log_info(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_warn(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_fatal(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));
