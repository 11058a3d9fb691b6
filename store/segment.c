/* Segment files. A segment gets its final name only when every byte of it is on disk, so that a file with a
 * name is whole and writing into it later changes no metadata: one device flush a sync. */
#include "store/segment.h"

#include "schemas/crc32c.h"
#include "schemas/bytes.h"
#include "store/file.h"
#include "store/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char magic[8] = "STMPJSEG", unfinished[] = "next.tmp";
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

/* Zeros in pieces, each pushed towards the disk at once: one large flush would stall the journal's own. */
static enum err write_zeros(int fd, uint64_t bytes)
{
	uint8_t *zeros = calloc(1, ZERO_BYTES);
	enum err err = zeros ? OK : ERR_NO_MEMORY;
	for (uint64_t at = 0; !err && at < bytes; at += ZERO_BYTES) {
		uint64_t left = bytes - at;
		err = file_write_all(fd, zeros, left < ZERO_BYTES ? (size_t)left : (size_t)ZERO_BYTES, at);
		if (!err) (void)sync_file_range(fd, (off_t)at, ZERO_BYTES, SYNC_FILE_RANGE_WRITE);
	}
	free(zeros);
	return err;
}

enum err segment_create(const struct journal_dir *dir, uint64_t number)
{
	char     name[SEGMENT_NAME];
	uint8_t  head[HEAD_BYTES];
	enum err err = ERR_IO;
	segment_name(number, name);
	head_write(dir, number, head);
	int fd = openat(dir->fd, unfinished, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) return ERR_IO;
	if ((err = write_zeros(fd, dir->segment_bytes))) goto out;
	if ((err = file_write_all(fd, head, sizeof head, 0))) goto out;
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

static enum err list_segments(const struct journal_dir *dir, bool tidy, uint64_t bounds[2], uint64_t *count)
{
	uint64_t       number;
	struct dirent *entry;
	int            fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR           *list = fd < 0 ? NULL : fdopendir(fd);
	bounds[0] = bounds[1] = *count = 0;
	if (!list && fd >= 0) close(fd);
	if (!list) return ERR_IO;
	while ((entry = readdir(list))) {
		if (tidy && !strcmp(entry->d_name, unfinished)) (void)unlinkat(dir->fd, entry->d_name, 0);
		if (!number_of(entry->d_name, &number)) continue;
		if (!bounds[0] || number < bounds[0]) bounds[0] = number;
		if (number > bounds[1]) bounds[1] = number;
		++*count;
	}
	closedir(list);
	return OK;
}

enum err segment_range(const struct journal_dir *dir, uint64_t *first, uint64_t *last)
{
	uint64_t bounds[2], count;
	enum err err = list_segments(dir, true, bounds, &count);
	*first = bounds[0];
	*last = bounds[1];
	if (err) return err;
	return count && *last - *first + 1 != count ? ERR_DAMAGED : OK;
}

enum err segment_bounds(const struct journal_dir *dir, uint64_t *first, uint64_t *last)
{
	uint64_t bounds[2], count;
	enum err err = list_segments(dir, false, bounds, &count);
	*first = bounds[0];
	*last = bounds[1];
	return err;
}
