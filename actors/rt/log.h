#pragma once
#include "actors/rt/log_line.h"
#include "schemas/err.h"
#include "schemas/messages.h"

#include <stdatomic.h>

/* One event, one line on stderr: `time=… level=… role=… index=… pid=… event=… key=value…`, or the same as a JSON object.
 * Levels: info (a fact), warn (the service continues), fatal (an operator must act), panic (a programmer must: a failed
 * must()). `format` has the other key=value pairs, printf style; values are quoted where needed (log_line.h). No secret, key
 * or holder's data. Safe from any thread. Never waits: a line that cannot be written at once is dropped and counted, and the
 * next line reports how many were. Errors: none. */
enum log_level { LOG_INFO, LOG_WARN, LOG_FATAL, LOG_PANIC };

struct log_options {
	const char *format, *level; /* values of --log-format and --log-level; NULL: logfmt, info */
	int         counts_fd;      /* of log_begin_service(), in a child; -1: none */
};

/* Identifies this process in its lines. From now on a failed must() is logged, too. */
void log_open(enum role role, int index, const struct log_options *options);

/* Changes the level, as in --log-level; any other word, or NULL, changes nothing. */
void log_set_level(const char *word);

/* For the supervisor, once, before it starts a child. Makes stderr non-blocking for this process and its later children (see
 * outlet.h), which all count dropped lines in one place. *counts_fd: its descriptor for children; -1: each counts alone.
 * Errors: ERR_IO: stderr is unchanged. */
must_check enum err log_begin_service(int *counts_fd);

/* Before the process ends: waits a moment for the last lines to leave. */
void log_close(void);

void log_info(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_warn(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_fatal(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lines that processes of this role have dropped since the service started. */
uint64_t log_dropped(enum role role);

/* Words that the options accept. */
bool log_is_format(const char *text);
bool log_is_level(const char *text);
