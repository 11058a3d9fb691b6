/* Log lines are built on the stack and leave in one write(), so that lines of several threads and processes on one stderr do
 * not mix. Dropped lines are counted by role in the page that all processes of a service share. */
#include "actors/rt/log.h"
#include "actors/rt/counts.h"
#include "actors/rt/outlet.h"
#include "schemas/date.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SETTLE_MS = 1000 };

static const char *const levels[] = {
    [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_FATAL] = "fatal", [LOG_PANIC] = "panic"};
static const char *const formats[] = {[LOG_LOGFMT] = "logfmt", [LOG_JSON] = "json"};

static enum role       own_role = ROLE_COUNT; /* none yet */
static int             own_index;
static enum log_format own_format = LOG_LOGFMT;
static atomic_int      own_level = LOG_INFO; /* may change while other threads log */
static atomic_uint     unreported;           /* lines dropped since the last one that reported it */

static int word_of(const char *text, const char *const *words, int count)
{
	for (int i = 0; text && i < count; i++)
		if (!strcmp(text, words[i])) return i;
	return -1;
}

bool log_is_format(const char *text)
{
	return word_of(text, formats, sizeof formats / sizeof *formats) >= 0;
}

bool log_is_level(const char *text)
{
	return word_of(text, levels, LOG_PANIC) >= 0;
}

/* ---- lines ---- */

static void begin_line(struct log_line *line, enum log_level level, const char *event)
{
	char            at[RFC3339_TEXT];
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	rfc3339_text((wall_us){now.tv_sec * US_PER_SEC + now.tv_nsec / 1000}, at);
	log_line_begin(line, own_format);
	log_line_text(line, "time", span_str(at));
	log_line_text(line, "level", span_str(levels[level]));
	log_line_text(line, "role", span_str(own_role < ROLE_COUNT ? role_text(own_role) : "stampede"));
	log_line_number(line, "index", own_index);
	log_line_number(line, "pid", getpid());
	log_line_text(line, "event", span_str(event));
}

static bool write_line(struct log_line *line)
{
	if (outlet_write(STDERR_FILENO, log_line_end(line))) return true;
	atomic_fetch_add_explicit(
	    &counts_shared()->dropped[own_role < ROLE_COUNT ? own_role : ROLE_SUPERVISOR], 1,
	    memory_order_relaxed);
	return false;
}

/* Logs how many lines are missing here. If that line finds no room either, they stay counted. */
static bool write_dropped(struct log_line *line)
{
	unsigned missing = atomic_exchange(&unreported, 0);
	if (!missing) return true;
	begin_line(line, LOG_WARN, "log_lines_dropped");
	log_line_number(line, "count", missing);
	if (outlet_write(STDERR_FILENO, log_line_end(line))) return true;
	atomic_fetch_add(&unreported, missing);
	return false;
}

static void say(enum log_level level, const char *event, const char *format, va_list values)
{
	struct log_line line;
	int             saved_errno = errno;
	if ((int)level < atomic_load_explicit(&own_level, memory_order_relaxed)) return;
	(void)write_dropped(&line);
	begin_line(&line, level, event);
	log_line_format(&line, format, values);
	if (!write_line(&line)) atomic_fetch_add(&unreported, 1);
	errno = saved_errno;
}

#define LOG_AT(level)                              \
	do {                                       \
		va_list values;                    \
		va_start(values, format);          \
		say(level, event, format, values); \
		va_end(values);                    \
	} while (0)

void log_info(const char *event, const char *format, ...)
{
	LOG_AT(LOG_INFO);
}

void log_warn(const char *event, const char *format, ...)
{
	LOG_AT(LOG_WARN);
}

void log_fatal(const char *event, const char *format, ...)
{
	LOG_AT(LOG_FATAL);
}

__attribute__((format(printf, 2, 3))) static void log_panic(const char *event, const char *format, ...)
{
	LOG_AT(LOG_PANIC);
}

static void log_must(const char *what, const char *file, int line)
{
	log_panic("must_failed", "what=\"%s\" at=%s:%d", what, file, line);
	outlet_settle(SETTLE_MS);
}

/* ---- open and close ---- */

void log_set_level(const char *word)
{
	int level = word_of(word, levels, LOG_PANIC);
	if (level >= 0) atomic_store_explicit(&own_level, level, memory_order_relaxed);
}

void log_open(enum role role, int index, const struct log_options *options)
{
	int format = word_of(options->format, formats, sizeof formats / sizeof *formats);
	own_role = role;
	own_index = index;
	if (format >= 0) own_format = (enum log_format)format;
	log_set_level(options->level);
	counts_take(options->counts_fd);
	must_tell(log_must);
}

enum err log_begin_service(int *counts_fd)
{
	*counts_fd = counts_make();
	counts_take(*counts_fd);
	return outlet_open(STDERR_FILENO);
}

void log_close(void)
{
	outlet_settle(SETTLE_MS);
}

uint64_t log_dropped(enum role role)
{
	return atomic_load_explicit(&counts_shared()->dropped[role], memory_order_relaxed);
}
