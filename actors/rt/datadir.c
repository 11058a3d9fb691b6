/* The data directory as every process opens it: by descriptors.
 *
 * A socket's path may hold about a hundred bytes, and a data directory may lie deeper than that or be given
 * relative to a working directory; so endpoints are named through /proc/self/fd, by the descriptor of
 * DIR/run. Only the supervisor makes directories and changes the identity (actors/supervisor/home.c). */
#include "actors/rt/datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { IDENTITY_BYTES_MAX = 1024, LOCK_POLL_MS = 10 };

/* Reads at most `room` bytes of a file into `to`. */
static enum err read_file(int dir_fd, const char *name, void *to, size_t room, size_t *size)
{
	int     fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;

	if (fd < 0) return errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
	*size = 0;
	while (*size < room && (got = read(fd, (char *)to + *size, room - *size)) > 0)
		*size += (size_t)got;
	close(fd);
	return got < 0 ? ERR_IO : OK;
}

static enum err read_identity(int dir_fd, struct identity *identity)
{
	char     text[IDENTITY_BYTES_MAX];
	size_t   size;
	enum err err = read_file(dir_fd, "identity", text, sizeof text, &size);

	return err ? err : identity_read(span_of(text, size), identity);
}

enum err datadir_open(const char *dir, struct datadir *datadir)
{
	enum err err;

	*datadir = (struct datadir){.fd = -1, .run_fd = -1};
	datadir->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (datadir->fd < 0) {
		err = errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO;
		goto out;
	}
	if ((err = read_identity(datadir->fd, &datadir->identity))) goto out;
	datadir->run_fd = openat(datadir->fd, "run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (datadir->run_fd < 0) err = errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
out:
	if (err) datadir_close(datadir);
	return err;
}

void datadir_close(struct datadir *datadir)
{
	if (datadir->run_fd >= 0) close(datadir->run_fd);
	if (datadir->fd >= 0) close(datadir->fd);
	datadir->fd = datadir->run_fd = -1;
}

void datadir_shard_endpoint(const struct datadir *datadir, uint32_t shard, char text[ENDPOINT_TEXT])
{
	snprintf(text, ENDPOINT_TEXT, "ipc:///proc/self/fd/%d/shard-%u", datadir->run_fd, shard);
}

void datadir_supervisor_endpoint(const struct datadir *datadir, char text[ENDPOINT_TEXT])
{
	snprintf(text, ENDPOINT_TEXT, "ipc:///proc/self/fd/%d/supervisor", datadir->run_fd);
}

enum err datadir_master_key(const struct datadir *datadir, uint8_t key[32])
{
	uint8_t  bytes[33]; /* one more than there may be, to see that there is no more */
	size_t   size;
	enum err err = read_file(datadir->fd, "master.key", bytes, sizeof bytes, &size);

	if (!err && size != 32) err = ERR_DAMAGED;
	for (size_t i = 0; !err && i < 32; i++)
		key[i] = bytes[i];
	explicit_bzero(bytes, sizeof bytes);
	return err;
}

enum err datadir_lock(int dir_fd, const char *name, int wait_ms, int *lock_fd)
{
	/* Of the open file, not of the process: it survives another open and close of the file in here. */
	struct flock    whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct timespec poll = {.tv_nsec = LOCK_POLL_MS * 1000000L};
	int             fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	bool            busy;

	*lock_fd = -1;
	if (fd < 0) return ERR_IO;
	while (fcntl(fd, F_OFD_SETLK, &whole) < 0) {
		busy = errno == EAGAIN || errno == EACCES;
		if (!busy || wait_ms <= 0) {
			close(fd);
			return busy ? ERR_LOCKED : ERR_IO;
		}
		nanosleep(&poll, NULL);
		wait_ms -= LOCK_POLL_MS;
	}
	*lock_fd = fd;
	return OK;
}
