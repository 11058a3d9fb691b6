/* Lines that leave without waiting. All that may wait is done by a thread, which then alone holds the operator's descriptor.
 * The thread takes no signals. They are handled by the main thread. Output from a background process (tostop) does not stop it
 * while that signal is blocked. */
#include "actors/rt/outlet.h"
#include "actors/rt/time.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RELAY_BYTES = 65536, PIPE_BYTES = 1 << 20, LOOK_MS = 5 };

/* The thread that passes lines on: one a process. */
static struct relay {
	int         from, to;
	atomic_bool busy; /* set before it reads, until it has written */
} relay = {-1, -1, false};
static atomic_bool is_torn; /* the last line written to a file is incomplete */

/* Waits as long as needed. What cannot be written at all is lost. */
static void write_whole(int fd, const char *at, size_t size)
{
	while (size) {
		ssize_t       put = write(fd, at, size);
		struct pollfd room = {.fd = fd, .events = POLLOUT};
		if (put > 0) {
			at += put;
			size -= (size_t)put;
		} else if (put < 0 && errno == EAGAIN) {
			(void)!poll(&room, 1, -1); /* another process has made it non-blocking */
		} else if (put == 0 || errno != EINTR) {
			return;
		}
	}
}

static void *relay_main(void *nothing)
{
	static char   bytes[RELAY_BYTES];
	struct pollfd come = {.fd = relay.from, .events = POLLIN};
	(void)nothing;
	for (;;) {
		if (poll(&come, 1, -1) <= 0) continue;
		atomic_store(&relay.busy, true);
		ssize_t got = read(relay.from, bytes, sizeof bytes);
		if (got > 0) write_whole(relay.to, bytes, (size_t)got);
		atomic_store(&relay.busy, false);
		if (got == 0) return NULL;
	}
}

static enum err start_thread(void *(*thread_main)(void *), void *argument)
{
	sigset_t  all, before;
	pthread_t thread;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&thread, NULL, thread_main, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!failed) pthread_detach(thread);
	return failed ? ERR_IO : OK;
}

static enum err open_relay(int fd)
{
	int      ends[2] = {-1, -1};
	enum err err = ERR_IO;
	if (relay.from >= 0 || pipe2(ends, O_CLOEXEC) < 0) return ERR_IO;
	relay.to = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	relay.from = ends[0];
	if (relay.to < 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0) goto out;
	(void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* or as much as the system allows */
	if ((err = start_thread(relay_main, NULL))) goto out;
	if (dup2(ends[1], fd) < 0) err = ERR_IO; /* the thread then sees the end of the pipe, and ends */
	if (!err) relay.from = ends[0];
out:
	if (err && ends[0] >= 0) close(ends[0]);
	if (err && relay.to >= 0) close(relay.to);
	if (err) relay.from = relay.to = -1;
	close(ends[1]);
	return err;
}

static enum err open_again(int fd)
{
	char path[40];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (own < 0) return ERR_IO;
	enum err err = dup2(own, fd) < 0 ? ERR_IO : OK;
	close(own);
	return err;
}

enum err outlet_open(int fd)
{
	struct stat is;
	if (fstat(fd, &is) < 0) return ERR_IO;
	if (S_ISREG(is.st_mode) || (S_ISCHR(is.st_mode) && !isatty(fd))) return OK;
	if (S_ISFIFO(is.st_mode) && !open_again(fd)) return OK;
	return open_relay(fd);
}

bool outlet_write(int fd, struct span line)
{
	bool         torn = atomic_load_explicit(&is_torn, memory_order_relaxed);
	struct iovec parts[] = {{(void *)"\n", torn}, {(void *)line.at, line.size}};
	ssize_t      size = (ssize_t)(line.size + torn), put;
	do
		put = torn ? writev(fd, parts, 2) : write(fd, line.at, line.size);
	while (put < 0 && errno == EINTR);
	if (put > 0 && (put < size) != torn) atomic_store(&is_torn, put < size);
	return put == size;
}

void outlet_settle(int ms)
{
	int     left = 0;
	mono_us end = mono_after(time_mono(), (dur_us){ms * US_PER_MS});
	while (relay.from >= 0 && time_mono().v < end.v) {
		bool none = ioctl(relay.from, FIONREAD, &left) < 0 || left == 0;
		if (none && !atomic_load(&relay.busy)) return;
		(void)!poll(NULL, 0, LOOK_MS);
	}
}

/* ---- one text ---- */

struct single {
	int    fd;
	size_t size;
	char   text[];
};

static void *single_main(void *argument)
{
	struct single *single = argument;
	write_whole(single->fd, single->text, single->size);
	close(single->fd);
	free(single);
	return NULL;
}

void outlet_tell_once(int fd, const char *text)
{
	size_t         size = strlen(text);
	struct single *single = malloc(sizeof *single + size);
	int            own = single ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (own < 0) {
		free(single);
		return;
	}
	single->fd = own;
	single->size = size;
	memcpy(single->text, text, size);
	if (!start_thread(single_main, single)) return;
	close(own);
	free(single);
}
