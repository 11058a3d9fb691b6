#include "actors/rt/stdio_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

static int fd_of(void *cookie)
{
	return (int)(intptr_t)cookie;
}

/* True: try again. */
static bool awaits(int fd, short events)
{
	struct pollfd ready = {.fd = fd, .events = events};

	if (errno == EINTR) return true;
	return errno == EAGAIN && (poll(&ready, 1, -1) > 0 || errno == EINTR);
}

static ssize_t read_waiting(void *cookie, char *bytes, size_t size)
{
	ssize_t n;

	do
		n = read(fd_of(cookie), bytes, size);
	while (n < 0 && awaits(fd_of(cookie), POLLIN));
	return n;
}

/* The C library takes less than all for an error. */
static ssize_t write_waiting(void *cookie, const char *bytes, size_t size)
{
	size_t put = 0;

	while (put < size) {
		ssize_t n = write(fd_of(cookie), bytes + put, size - put);
		if (n > 0)
			put += (size_t)n;
		else if (!n || !awaits(fd_of(cookie), POLLOUT))
			break;
	}
	return (ssize_t)put;
}

static FILE *waiting(int fd, FILE *plain, const char *mode, int buffering)
{
	const cookie_io_functions_t functions = {.read = read_waiting, .write = write_waiting};
	int                         flags = fcntl(fd, F_GETFL);
	FILE *made = flags >= 0 && flags & O_NONBLOCK ? fopencookie((void *)(intptr_t)fd, mode, functions)
	                                              : NULL;

	if (!made) return plain;
	setvbuf(made, NULL, buffering, BUFSIZ);
	return made;
}

void stdio_wait(void)
{
	stdin = waiting(STDIN_FILENO, stdin, "r", _IOFBF);
	stdout = waiting(STDOUT_FILENO, stdout, "w", _IOFBF);
	stderr = waiting(STDERR_FILENO, stderr, "w", _IONBF);
}
