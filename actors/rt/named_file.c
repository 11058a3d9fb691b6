/* Files that options name, read with a deadline. */
#include "actors/rt/named_file.h"
#include "actors/rt/time.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

int named_file_open(const char *path, mono_us *until)
{
	*until = mono_after(time_mono(), (dur_us){NAMED_FILE_WAIT_MS * US_PER_MS});
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

/* A FIFO that never had a writer is not at its end yet: poll() waits for one, read() would return 0. */
ssize_t named_file_read(int fd, void *to, size_t size, mono_us until)
{
	struct pollfd watched = {.fd = fd, .events = POLLIN};
	int64_t       left_ms;

	do {
		left_ms = mono_since(until, time_mono()).v / US_PER_MS;
		int     ready = poll(&watched, 1, left_ms > 0 ? (int)left_ms : 0);
		ssize_t got = ready > 0 ? read(fd, to, size) : -1;
		if (ready == 0) break;
		if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return got;
	} while (left_ms > 0);
	errno = ETIMEDOUT;
	return -1;
}

const char *named_file_error(int error)
{
	return error == ETIMEDOUT ? "no data comes: a regular file is wanted" : strerror(error);
}
