/* The writer of the access log. There are two buffers. Threads fill one, under a lock held for the time of a copy. The writer
 * swaps the buffers and writes without the lock. A regular file gets a whole buffer at once. A file with other writers
 * (stderr, a pipe) gets one line at a time, so that no line is torn. */
#include "http/access_log.h"
#include "actors/rt/log.h"
#include "actors/rt/log_file.h"
#include "actors/rt/until.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RETRY_MS = 100, CLOSE_MS = 1000 };

struct access_log {
	pthread_mutex_t mutex;
	pthread_cond_t  news;
	uint8_t        *filling; /* under the mutex, like the next four */
	size_t          filled;
	bool            stopping;
	uint64_t        dropped;
	char           *next; /* path to open next; NULL: unchanged */
	atomic_bool     reopen;

	/* Used by the writer only. */
	pthread_t thread;
	uint8_t  *writing;
	char     *path; /* -: stderr */
	int       fd;   /* -1: not open */
	bool      by_line, is_stalled;
	uint64_t  reported; /* `dropped` when the last buffer had been written */
};

static uint64_t lines_in(const uint8_t *at, size_t size)
{
	uint64_t count = 0;
	for (size_t i = 0; i < size; i++)
		count += at[i] == '\n';
	return count;
}

/* ---- writer ---- */

static bool is_stderr(const struct access_log *log)
{
	return !strcmp(log->path, "-");
}

static void close_file(struct access_log *log)
{
	if (log->fd >= 0 && !is_stderr(log)) close(log->fd);
	log->fd = -1;
}

/* Closes the file if it must be opened again. */
static void turn_over(struct access_log *log)
{
	if (!atomic_exchange(&log->reopen, false)) return;
	close_file(log);
	pthread_mutex_lock(&log->mutex);
	char *gone = log->next ? log->path : NULL;
	if (log->next) log->path = log->next;
	log->next = NULL;
	pthread_mutex_unlock(&log->mutex);
	free(gone);
}

/* False: errno has the reason. */
static bool open_file(struct access_log *log)
{
	struct stat is;
	if (log->fd >= 0) return true;
	log->fd = is_stderr(log) ? STDERR_FILENO : log_file_open(log->path);
	if (log->fd < 0) return false;
	log->by_line = is_stderr(log) || fstat(log->fd, &is) < 0 || !S_ISREG(is.st_mode);
	return true;
}

/* Sleeps a while. False: the log is closing. */
static bool rest(struct access_log *log)
{
	struct timespec until = until_ms(RETRY_MS);
	pthread_mutex_lock(&log->mutex);
	if (!log->stopping) pthread_cond_clockwait(&log->news, &log->mutex, CLOCK_MONOTONIC, &until);
	bool stopping = log->stopping;
	pthread_mutex_unlock(&log->mutex);
	return !stopping;
}

/* A full pipe is logged once lines are dropped: its reader may only be slow. */
static void log_stalled(struct access_log *log, int error)
{
	if (log->is_stalled || (error == EAGAIN && access_log_dropped(log) == log->reported)) return;
	log->is_stalled = true;
	log_warn("access_log_stalled", "file=\"%s\" error=\"%s\"", log->path, log_file_error(error));
}

static void give_up(struct access_log *log, const uint8_t *at, size_t size)
{
	pthread_mutex_lock(&log->mutex);
	log->dropped += lines_in(at, size);
	pthread_mutex_unlock(&log->mutex);
}

static size_t line_size(const uint8_t *at, size_t size)
{
	const uint8_t *end = memchr(at, '\n', size);
	return end ? (size_t)(end - at) + 1 : size;
}

/* The size of what is written next. */
static size_t piece(const struct access_log *log, const uint8_t *at, size_t size)
{
	return log->by_line ? line_size(at, size) : size;
}

/* How many bytes are given up after a failure: all when closing. If the file was changed after a full disk took part of a
 * line, the rest of that line. */
static size_t plan_loss(struct access_log *log, const uint8_t *at, size_t size, bool between_lines)
{
	bool goes_on = rest(log);
	if (!between_lines && atomic_load(&log->reopen)) return line_size(at, size);
	return goes_on ? 0 : size;
}

static void write_out(struct access_log *log, const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		bool between_lines = at == 0 || bytes[at - 1] == '\n';
		if (between_lines) turn_over(log);
		ssize_t put = open_file(log) ? write(log->fd, bytes + at, piece(log, bytes + at, size - at))
		                             : -1;
		if (put > 0) {
			at += (size_t)put;
		} else if (errno != EINTR) {
			log_stalled(log, errno);
			size_t gone = plan_loss(log, bytes + at, size - at, between_lines);
			give_up(log, bytes + at, gone);
			at += gone;
		}
	}
	/* Over only if nothing was dropped meanwhile: a reader that is too slow is reported once. */
	uint64_t dropped = access_log_dropped(log);
	if (dropped == log->reported) log->is_stalled = false;
	log->reported = dropped;
}

static void *writer_main(void *argument)
{
	struct access_log *log = argument;
	bool               stopping = false;
	while (!stopping) {
		pthread_mutex_lock(&log->mutex);
		while (!log->filled && !log->stopping && !atomic_load(&log->reopen))
			pthread_cond_wait(&log->news, &log->mutex);
		uint8_t *bytes = log->filling;
		size_t   size = log->filled;
		log->filling = log->writing;
		log->writing = bytes;
		log->filled = 0;
		stopping = log->stopping;
		pthread_mutex_unlock(&log->mutex);
		write_out(log, bytes, size);
		/* Also with nothing to write: log rotation waits for the new file. */
		turn_over(log);
		(void)!open_file(log);
	}
	close_file(log);
	return NULL;
}

/* ---- other threads ---- */

static void free_log(struct access_log *log)
{
	pthread_mutex_destroy(&log->mutex);
	pthread_cond_destroy(&log->news);
	free(log->filling);
	free(log->writing);
	free(log->path);
	free(log->next);
	free(log);
}

enum err access_log_open(const char *where, struct access_log **out)
{
	struct access_log *log = calloc(1, sizeof *log);
	if (!log) return ERR_NO_MEMORY;
	log->fd = -1;
	log->path = strdup(where);
	log->filling = malloc(ACCESS_LOG_BYTES);
	log->writing = malloc(ACCESS_LOG_BYTES);
	pthread_mutex_init(&log->mutex, NULL);
	pthread_cond_init(&log->news, NULL);
	if (log->path && !open_file(log))
		log_stalled(log, errno); /* the path was checked before; the writer tries again */
	if (!log->path || !log->filling || !log->writing ||
	    pthread_create(&log->thread, NULL, writer_main, log)) {
		close_file(log);
		free_log(log);
		return ERR_NO_MEMORY;
	}
	*out = log;
	return OK;
}

void access_log_close(struct access_log **log_p)
{
	struct access_log *log = *log_p;
	*log_p = NULL;
	if (!log) return;
	pthread_mutex_lock(&log->mutex);
	log->stopping = true;
	pthread_cond_signal(&log->news);
	pthread_mutex_unlock(&log->mutex);
	struct timespec until = until_ms(CLOSE_MS);
	/* A write that hangs ends with the process and keeps its memory until then. */
	if (!pthread_clockjoin_np(log->thread, NULL, CLOCK_MONOTONIC, &until)) free_log(log);
}

void access_log_put(struct access_log *log, struct span line)
{
	pthread_mutex_lock(&log->mutex);
	bool fits = line.size <= ACCESS_LOG_BYTES - log->filled, was_empty = log->filled == 0;
	if (fits) {
		memcpy(log->filling + log->filled, line.at, line.size);
		log->filled += line.size;
	} else {
		log->dropped++;
	}
	if (fits && was_empty) pthread_cond_signal(&log->news);
	pthread_mutex_unlock(&log->mutex);
}

enum err access_log_reopen(struct access_log *log, const char *where)
{
	char *next = strdup(where);
	if (!next) return ERR_NO_MEMORY;
	pthread_mutex_lock(&log->mutex);
	char *gone = log->next;
	log->next = next;
	atomic_store(&log->reopen, true);
	pthread_cond_signal(&log->news);
	pthread_mutex_unlock(&log->mutex);
	free(gone);
	return OK;
}

uint64_t access_log_dropped(struct access_log *log)
{
	if (!log) return 0;
	pthread_mutex_lock(&log->mutex);
	uint64_t dropped = log->dropped;
	pthread_mutex_unlock(&log->mutex);
	return dropped;
}
