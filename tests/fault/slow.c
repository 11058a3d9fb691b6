/* A slow disk, preloaded before the C library (LD_PRELOAD): it delays syncs.
 *
 *   SLOW_SYNC_BELOW   part of a path: only files whose path contains it are slow
 *   SLOW_SYNC_WHILE   a file: while it exists, syncs of such files wait. If it contains a number, each sync waits at
 *                     most that many milliseconds.
 * The sync itself is made afterwards: its result is correct but late. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 5, PATH_BYTES = 4096 };

static bool is_slow(int fd)
{
	char        link[64], path[PATH_BYTES];
	const char *below = getenv("SLOW_SYNC_BELOW");
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t size = below ? readlink(link, path, sizeof path - 1) : -1;
	path[size > 0 ? size : 0] = 0;
	return size > 0 && strstr(path, below);
}

/* The longest wait of a sync by the file's content; 0 when the file does not exist. */
static long wait_ms_most(void)
{
	char        text[32];
	const char *name = getenv("SLOW_SYNC_WHILE");
	int         fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) return 0;
	ssize_t size = read(fd, text, sizeof text - 1);
	close(fd);
	text[size > 0 ? size : 0] = 0;
	long most = strtol(text, NULL, 10);
	return most > 0 ? most : 24L * 3600 * 1000;
}

static void wait_for_disk(int fd)
{
	struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
	if (!is_slow(fd)) return;
	for (long waited = 0; waited < wait_ms_most(); waited += LOOK_MS)
		nanosleep(&look, NULL);
}

int fdatasync(int fd)
{
	wait_for_disk(fd);
	return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	wait_for_disk(fd);
	return (int)syscall(SYS_fsync, fd);
}
