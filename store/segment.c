/* Segment files. A segment gets its final name only when every byte of it is on disk, so that a file with a
 * name is whole and writing into it later changes no metadata: one device flush a sync. */
#include "store/segment.h"

#include "schemas/crc32c.h"
#include "schemas/bytes.h"
#include "store/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char magic[8] = "STMPJSEG";
enum { VERSION = 1, HEAD_BYTES = 52, ZERO_BYTES = 1 << 18 };

void segment_name(uint64_t number, char name[SEGMENT_NAME])
{
	snprintf(name, SEGMENT_NAME, "%020llu.seg", (unsigned long long)number);
}

static void head_write(const struct journal_dir *dir, uint64_t number, uint8_t head[HEAD_BYTES])
{
	memcpy(head, magic, sizeof magic);
	put_le32(head + 8, VERSION);
	put_le32(head + 12, dir->shard);
	memcpy(head + 16, dir->lineage, 16);
	put_le64(head + 32, number);
	put_le64(head + 40, dir->segment_bytes);
	put_le32(head + 48, crc32c(0, head, 48));
}

static enum err write_all(int fd, const void *bytes, size_t size, uint64_t offset)
{
	const uint8_t *at = bytes;
	while (size) {
		ssize_t n = pwrite(fd, at, size, (off_t)offset);
		if (n < 0 && errno == EINTR) continue;
		if (n <= 0) return ERR_IO;
		at += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return OK;
}

/* Zeros in pieces, each pushed towards the disk at once: one large flush would stall the journal's own. */
static enum err write_zeros(int fd, uint64_t bytes)
{
	uint8_t *zeros = calloc(1, ZERO_BYTES);
	enum err err = zeros ? OK : ERR_NO_MEMORY;
	for (uint64_t at = 0; !err && at < bytes; at += ZERO_BYTES) {
		uint64_t left = bytes - at;
		err = write_all(fd, zeros, left < ZERO_BYTES ? (size_t)left : (size_t)ZERO_BYTES, at);
		if (!err) (void)sync_file_range(fd, (off_t)at, ZERO_BYTES, SYNC_FILE_RANGE_WRITE);
	}
	free(zeros);
	return err;
}

enum err segment_create(const struct journal_dir *dir, uint64_t number)
{
	static const char unfinished[] = "next.tmp";
	char              name[SEGMENT_NAME];
	uint8_t           head[HEAD_BYTES];
	enum err          err = ERR_IO;
	segment_name(number, name);
	head_write(dir, number, head);
	int fd = openat(dir->fd, unfinished, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) return ERR_IO;
	if ((err = write_zeros(fd, dir->segment_bytes))) goto out;
	if ((err = write_all(fd, head, sizeof head, 0))) goto out;
	err = ERR_IO;
	if (fsync(fd)) goto out;
	if (linkat(dir->fd, unfinished, dir->fd, name, 0)) goto out; /* unlike rename, never replaces */
	if (unlinkat(dir->fd, unfinished, 0) || fsync(dir->fd)) goto out;
	err = OK;
out:
	close(fd);
	return err;
}

enum err segment_open(const struct journal_dir *dir, uint64_t number, int *out, uint64_t *bytes)
{
	char     name[SEGMENT_NAME];
	uint8_t  head[HEAD_BYTES], want[HEAD_BYTES];
	enum err err = ERR_DAMAGED;
	segment_name(number, name);
	int fd = openat(dir->fd, name, O_RDWR | O_CLOEXEC);
	if (fd < 0) return errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
	off_t end = lseek(fd, 0, SEEK_END);
	if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head) goto out;
	if (memcmp(head, magic, sizeof magic) || get_le32(head + 48) != crc32c(0, head, 48)) goto out;
	if (get_le32(head + 8) != VERSION) {
		err = ERR_UNSUPPORTED;
		goto out;
	}
	struct journal_dir same = *dir;
	same.segment_bytes = get_le64(head + 40); /* may differ: the size is an option */
	head_write(&same, number, want);
	if (memcmp(head, want, sizeof head) || end < 0 || (uint64_t)end != same.segment_bytes) goto out;
	*bytes = same.segment_bytes;
	*out = fd;
	return OK;
out:
	close(fd);
	return err;
}

enum err segment_delete(const struct journal_dir *dir, uint64_t number)
{
	char name[SEGMENT_NAME];
	segment_name(number, name);
	return unlinkat(dir->fd, name, 0) || fsync(dir->fd) ? ERR_IO : OK;
}

static bool number_of(const char *name, uint64_t *number)
{
	char *end;
	if (strlen(name) != 24 || strcmp(name + 20, ".seg")) return false;
	*number = strtoull(name, &end, 10);
	return end == name + 20 && *number > 0;
}

enum err segment_range(const struct journal_dir *dir, uint64_t *first, uint64_t *last)
{
	uint64_t       count = 0, number;
	struct dirent *entry;
	int            fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR           *list = fd < 0 ? NULL : fdopendir(fd);
	*first = *last = 0;
	if (!list) return ERR_IO;
	while ((entry = readdir(list))) {
		if (!strcmp(entry->d_name, "next.tmp")) (void)unlinkat(dir->fd, entry->d_name, 0);
		if (!number_of(entry->d_name, &number)) continue;
		if (!*first || number < *first) *first = number;
		if (number > *last) *last = number;
		count++;
	}
	closedir(list);
	return count && *last - *first + 1 != count ? ERR_DAMAGED : OK;
}
