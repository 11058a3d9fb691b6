#pragma once
#include "actors/rt/log_line.h"
#include "schemas/err.h"
#include "schemas/messages.h"

#include <stdatomic.h>

/* One event, one line on stderr: `time=… level=… role=… index=… pid=… event=… key=value…`, or the same as a JSON object.
 * Words: info (a fact), warn (we went on), fatal (the operator must act), panic (the programmer must: a failed must()).
 * `format` gives the rest as key=value pairs, printf style: see log_line.h; it quotes values that need it by itself.
 * No secret, key or holder's data. Safe from any thread. Nobody waits for a reader: a line that cannot be written at once
 * is dropped and counted, and the next one that can be says how many were. Errors: none. */
enum log_level { LOG_INFO, LOG_WARN, LOG_FATAL, LOG_PANIC };

struct log_options {
	const char *format, *level; /* as --log-format and --log-level have them; NULL: logfmt, info */
	int         counts_fd;      /* of log_share_counts(), in a child; -1: none */
};

/* Who this process is in its lines. From here on a failed must() is told as a line of the log. */
void log_open(enum role role, int index, const struct log_options *options);

/* Another level from now on, as --log-level has it; any other word, or NULL, changes nothing. */
void log_set_level(const char *word);

/* For the supervisor, once, before it starts anybody: stderr does not make its writers wait from here on, in this process
 * and those that it will start (see outlet.h), and all of them count what they drop in one place. Returns a descriptor of
 * that for children; -1: each counts for itself. Errors: ERR_IO: stderr is as it was. */
must_check enum err log_begin_service(int *counts_fd);

/* The last lines get a moment to leave: before the process ends. */
void log_close(void);

void log_info(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_warn(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_fatal(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lines that processes of this role have dropped, over all of the service's life. */
uint64_t log_dropped(enum role role);

/* The words that the options take. */
bool log_is_format(const char *text);
bool log_is_level(const char *text);
