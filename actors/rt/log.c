/* Log lines: built in a buffer on the stack and handed to the kernel in one write(), so that lines of several
 * threads and processes on one stderr do not mix. A line that is too long is cut; a control character inside
 * becomes a question mark, so that one event stays one line whatever a value holds. */
#include "actors/rt/log.h"
#include "schemas/date.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 1024 };

static const char *own_role = "stampede";
static int         own_index;

void log_open(const char *role, int index)
{
	own_role = role;
	own_index = index;
}

/* How far snprintf got, given the room it had. */
static size_t advance(int printed, size_t room)
{
	if (printed < 0) return 0;
	return (size_t)printed < room ? (size_t)printed : room - 1;
}

static void write_line(const char *level, const char *event, const char *format, va_list values)
{
	char            line[LINE_BYTES_MAX], at[RFC3339_TEXT];
	struct timespec now;
	size_t          size;
	int             saved_errno = errno;

	clock_gettime(CLOCK_REALTIME, &now);
	rfc3339_text((wall_us){now.tv_sec * US_PER_SEC + now.tv_nsec / 1000}, at);
	size = advance(snprintf(line, sizeof line - 1, "time=%s level=%s role=%s index=%d pid=%d event=%s ",
	                        at, level, own_role, own_index, (int)getpid(), event),
	               sizeof line - 1);
	size += advance(vsnprintf(line + size, sizeof line - 1 - size, format, values),
	                sizeof line - 1 - size);
	while (size && line[size - 1] == ' ')
		size--;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f) line[i] = '?';
	line[size++] = '\n';
	/* A log that cannot be written has nobody to be told to. */
	if (write(STDERR_FILENO, line, size) < 0) errno = saved_errno;
	errno = saved_errno;
}

#define LOG_AT(level)                                     \
	do {                                              \
		va_list values;                           \
		va_start(values, format);                 \
		write_line(level, event, format, values); \
		va_end(values);                           \
	} while (0)

void log_info(const char *event, const char *format, ...)
{
	LOG_AT("info");
}

void log_warn(const char *event, const char *format, ...)
{
	LOG_AT("warn");
}

void log_fatal(const char *event, const char *format, ...)
{
	LOG_AT("fatal");
}
