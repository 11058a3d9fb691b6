/* Whole-file operations: after a crash a file is the old or the new one, and a short read is an error. */
#include "store/file.h"

#include "schemas/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 18, RELEASE_BYTES = 2 << 20, HOLD_BYTES = 128 << 10, NAME_BYTES = 64 };

static enum err failed(void)
{
	return errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_IO;
}

int file_error(enum err err)
{
	if (err == ERR_NO_MEMORY) return ENOMEM;
	return err == ERR_IO || err == ERR_STORAGE_FULL ? errno : EUCLEAN;
}

bool file_is_removed(int fd)
{
	struct stat st;
	return !fstat(fd, &st) && st.st_nlink == 0;
}

bool file_lacks_call(int error)
{
	return error == EOPNOTSUPP || error == ENOSYS || error == EPERM;
}

uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

enum err file_sync_dir(int dir_fd)
{
	return fsync(dir_fd) ? ERR_IO : OK;
}

enum err file_open_dir(int parent, const char *name, int *fd)
{
	*fd = -1;
	if (mkdirat(parent, name, 0700) && errno != EEXIST) return failed();
	*fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *fd < 0 ? ERR_IO : file_sync_dir(parent);
}

enum err file_list(int parent, const char *name, DIR **list)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*list = fd < 0 ? NULL : fdopendir(fd);
	if (!*list && fd >= 0) close(fd);
	if (*list) return OK;
	return fd < 0 && errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
}

enum err file_write_all(int fd, const void *bytes, size_t size, uint64_t offset)
{
	const uint8_t *at = bytes;
	while (size) {
		ssize_t n = pwrite(fd, at, size, (off_t)offset);
		if (n < 0 && errno == EINTR) continue;
		if (n <= 0) return n ? failed() : ERR_IO;
		at += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return OK;
}

enum err file_replace(int dir_fd, const char *name, struct span bytes)
{
	char fresh[NAME_BYTES];
	snprintf(fresh, sizeof fresh, "%s.tmp", name);
	int fd = openat(dir_fd, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) return failed();
	enum err err = file_write_all(fd, bytes.at, bytes.size, 0);
	if (!err && fsync(fd)) err = failed();
	close(fd);
	if (err) return err;
	return renameat(dir_fd, fresh, dir_fd, name) ? failed() : file_sync_dir(dir_fd);
}

/* Reads until `size` bytes are read or the file ends; returns the count, or -1. */
static ssize_t read_piece(int fd, uint8_t *to, size_t size, uint64_t offset)
{
	size_t have = 0;
	while (have < size) {
		ssize_t n = pread(fd, to + have, size - have, (off_t)(offset + have));
		if (n < 0 && errno == EINTR) continue;
		if (n < 0) return -1;
		if (n == 0) break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

enum err file_load(int dir_fd, const char *name, size_t max, struct buffer *out)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe reads as empty */
	buffer_clear(out);
	if (fd < 0) return errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
	uint8_t *to = buffer_reserve(out, max + 1);
	ssize_t  n = to ? read_piece(fd, to, max + 1, 0) : 0;
	close(fd);
	if (!to) return ERR_NO_MEMORY;
	if (n < 0) return ERR_IO;
	if ((size_t)n > max) return ERR_DAMAGED;
	out->size = (size_t)n;
	return OK;
}

/* Reads a file piece by piece. */
typedef enum err (*piece_fn)(void *user, const uint8_t *bytes, size_t size, uint64_t offset);

static enum err each_piece(int fd, struct progress *progress, piece_fn piece, void *user)
{
	uint8_t *bytes = malloc(PIECE_BYTES);
	enum err err = bytes ? OK : ERR_NO_MEMORY;
	ssize_t  n = 1;
	for (uint64_t at = 0; !err && n > 0; at += (uint64_t)n) {
		n = read_piece(fd, bytes, PIECE_BYTES, at);
		if (n < 0)
			err = ERR_IO;
		else if (n > 0 && !(err = piece(user, bytes, (size_t)n, at)))
			err = progress_step(progress, (uint64_t)n) ? OK : ERR_STOPPED;
	}
	free(bytes);
	return err;
}

/* Each piece is pushed towards the disk at once: one large flush at the end would stall the journal's own. */
static enum err write_piece(void *user, const uint8_t *bytes, size_t size, uint64_t offset)
{
	int      fd = *(int *)user;
	enum err err = file_write_all(fd, bytes, size, offset);
	if (!err) (void)sync_file_range(fd, (off_t)offset, (off_t)size, SYNC_FILE_RANGE_WRITE);
	return err;
}

enum err file_copy(int from_fd, int to_fd, struct progress *progress)
{
	return each_piece(from_fd, progress, write_piece, &to_fd);
}

static enum err sum_piece(void *user, const uint8_t *bytes, size_t size, uint64_t offset)
{
	uint32_t *crc = user;
	(void)offset;
	*crc = crc32c(*crc, bytes, size);
	return OK;
}

enum err file_crc32c(int fd, uint32_t *crc)
{
	*crc = 0;
	return each_piece(fd, NULL, sum_piece, crc);
}

static enum err digest_piece(void *user, const uint8_t *bytes, size_t size, uint64_t offset)
{
	(void)offset;
	return EVP_DigestUpdate(user, bytes, size) ? OK : ERR_NO_MEMORY;
}

enum err file_sha256(int fd, uint8_t sha256[32], struct progress *progress)
{
	EVP_MD_CTX *digest = EVP_MD_CTX_new();
	enum err    err = digest && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) ? OK : ERR_NO_MEMORY;
	if (!err) err = each_piece(fd, progress, digest_piece, digest);
	if (!err && !EVP_DigestFinal_ex(digest, sha256, NULL)) err = ERR_NO_MEMORY;
	EVP_MD_CTX_free(digest);
	return err;
}

void file_hold_pages(int fd, uint64_t at, uint64_t bytes)
{
	/* One advice covers at most the device's read-ahead. */
	for (uint64_t end = at + bytes; at < end; at += HOLD_BYTES)
		if (posix_fadvise(fd, (off_t)at, HOLD_BYTES, POSIX_FADV_WILLNEED)) return;
}

void file_release(int fd, struct progress *progress)
{
	struct stat st;
	if (fstat(fd, &st)) return; /* the space is freed with the descriptor */
	for (off_t left = st.st_size; left > 0; left -= RELEASE_BYTES) {
		if (ftruncate(fd, left > RELEASE_BYTES ? left - RELEASE_BYTES : 0)) return;
		if (!progress_step(progress, RELEASE_BYTES)) return;
	}
}

enum err file_remove_dir(int parent, const char *name)
{
	struct dirent *entry;
	DIR           *list;
	enum err       err = file_list(parent, name, &list);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	while (!err && (entry = readdir(list)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = unlinkat(dirfd(list), entry->d_name, 0) && errno != ENOENT ? ERR_IO : OK;
	closedir(list);
	if (err) return err;
	return unlinkat(parent, name, AT_REMOVEDIR) && errno != ENOENT ? ERR_IO : OK;
}
