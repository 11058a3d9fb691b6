/* Files that lines are appended to, for the writing process and for the check before a start. */
#include "actors/rt/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODE = 0640 };

static int open_file(const char *path, int flags)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags, MODE);
}

int log_file_open(const char *path)
{
	return open_file(path, 0);
}

bool log_file_check(const char *path)
{
	int fd = open_file(path, O_EXCL);
	if (fd >= 0) {
		unlink(path);
	} else if (errno == EEXIST) {
		fd = log_file_open(path);
	}
	if (fd >= 0) close(fd);
	return fd >= 0;
}

const char *log_file_error(int error)
{
	if (error == EAGAIN) return "a pipe whose reader is too slow, or has stopped reading";
	return error == ENXIO ? "a pipe that no process reads" : strerror(error);
}
