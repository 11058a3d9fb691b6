/* Segment files. A segment gets its final name only when every byte of it is on disk. So a named file is whole,
 * later writes change no metadata, and a sync costs one device flush. */
#include "store/segment.h"

#include "schemas/crc32c.h"
#include "schemas/bytes.h"
#include "store/file.h"
#include "store/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char magic[8] = "STMPJSEG", unfinished[] = "next.tmp";
enum { HEAD_BYTES = 52, ZERO_BYTES = 1 << 17 };

void segment_name(uint64_t number, char name[SEGMENT_NAME])
{
	snprintf(name, SEGMENT_NAME, "%020llu.seg", (unsigned long long)number);
}

static void head_write(const struct journal_dir *dir, uint64_t number, uint8_t head[HEAD_BYTES])
{
	memcpy(head, magic, sizeof magic);
	put_le32(head + 8, SEGMENT_VERSION);
	put_le32(head + 12, dir->shard);
	memcpy(head + 16, dir->lineage, 16);
	put_le64(head + 32, number);
	put_le64(head + 40, dir->segment_bytes);
	put_le32(head + 48, crc32c(0, head, 48));
}

/* Writes zeros in pieces and pushes each towards the disk at once: one large flush would stall the journal's own. */
static enum err write_zeros(int fd, uint64_t bytes, struct progress *progress)
{
	uint8_t *zeros = calloc(1, ZERO_BYTES);
	enum err err = zeros ? OK : ERR_NO_MEMORY;
	for (uint64_t at = 0; !err && at < bytes; at += ZERO_BYTES) {
		uint64_t left = bytes - at, piece = left < ZERO_BYTES ? left : ZERO_BYTES;
		file_hold_pages(fd, at, piece);
		err = file_write_all(fd, zeros, (size_t)piece, at);
		if (!err) (void)sync_file_range(fd, (off_t)at, (off_t)piece, SYNC_FILE_RANGE_WRITE);
		if (!err && !progress_step(progress, piece)) err = ERR_STOPPED;
	}
	free(zeros);
	return err;
}

/* Reserves all of the space first, so that a disk too full for it is not filled to the brim. */
static enum err reserve(int fd, uint64_t bytes)
{
	if (!fallocate(fd, 0, 0, (off_t)bytes) || file_lacks_call(errno)) return OK;
	return errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_IO;
}

static enum err fill(const struct journal_dir *dir, uint64_t number, int fd, struct progress *progress)
{
	uint8_t  head[HEAD_BYTES];
	enum err err = reserve(fd, dir->segment_bytes);
	head_write(dir, number, head);
	if (!err) err = write_zeros(fd, dir->segment_bytes, progress);
	if (!err) err = file_write_all(fd, head, sizeof head, 0);
	return !err && fsync(fd) ? ERR_IO : err;
}

enum err segment_create(const struct journal_dir *dir, uint64_t number, struct progress *progress)
{
	char name[SEGMENT_NAME];
	segment_name(number, name);
	/* An existing file may be a second name of a segment in use: unlink it, never truncate. */
	if (unlinkat(dir->fd, unfinished, 0) && errno != ENOENT) return ERR_IO;
	int fd = openat(dir->fd, unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) return errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_IO;
	enum err err = fill(dir, number, fd, progress);
	close(fd);
	if (!err && linkat(dir->fd, unfinished, dir->fd, name, 0))
		err = ERR_IO; /* unlike rename, never replaces */
	return unlinkat(dir->fd, unfinished, 0) && !err ? ERR_IO : err;
}

/* In any version. */
static bool head_holds(const uint8_t head[HEAD_BYTES])
{
	return !memcmp(head, magic, sizeof magic) && get_le32(head + 48) == crc32c(0, head, 48);
}

enum err segment_judge_version(const struct journal_dir *dir, uint64_t number, char why[VERSION_TEXT])
{
	char    name[SEGMENT_NAME], path[SEGMENT_NAME + 8];
	uint8_t head[HEAD_BYTES];
	segment_name(number, name);
	int fd = openat(dir->fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) return OK;
	bool whole = pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head && head_holds(head);
	close(fd);
	if (!whole || get_le32(head + 8) == SEGMENT_VERSION) return OK;
	snprintf(path, sizeof path, "journal/%s", name);
	version_refusal(VERSION_OF_DATA, path, get_le32(head + 8), SEGMENT_VERSION, why);
	return ERR_UNSUPPORTED;
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
	if (!head_holds(head)) goto out;
	if (get_le32(head + 8) != SEGMENT_VERSION) {
		err = ERR_UNSUPPORTED;
		goto out;
	}
	struct journal_dir same = *dir;
	same.segment_bytes = get_le64(head + 40); /* may differ: the size is an option */
	head_write(&same, number, want);
	err = memcmp(head, want, sizeof head) ? ERR_NOT_MINE : ERR_DAMAGED;
	bool is_whole = end >= 0 && (uint64_t)end == same.segment_bytes && end % RECORD_ALIGN == 0;
	if (err == ERR_NOT_MINE || !is_whole) goto out;
	*bytes = same.segment_bytes;
	*out = fd;
	return OK;
out:
	close(fd);
	return err;
}

bool segment_head_holds(struct span bytes, uint64_t number)
{
	const uint8_t *head = bytes.at;
	return bytes.size >= HEAD_BYTES && head_holds(head) && get_le32(head + 8) == SEGMENT_VERSION &&
	       get_le64(head + 32) == number && get_le64(head + 40) == bytes.size;
}

enum err segment_began(const struct journal_dir *dir, uint64_t number, wall_us *at)
{
	char    name[SEGMENT_NAME];
	uint8_t head[RECORD_HEAD];
	segment_name(number, name);
	int fd = openat(dir->fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) return errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
	bool whole = pread(fd, head, sizeof head, RECORD_ALIGN) == (ssize_t)sizeof head;
	close(fd);
	return whole && record_head_now(head, at) ? OK : ERR_NOT_FOUND;
}

enum err segment_delete(const struct journal_dir *dir, uint64_t number)
{
	char name[SEGMENT_NAME];
	segment_name(number, name);
	return unlinkat(dir->fd, name, 0) || fsync(dir->fd) ? ERR_IO : OK;
}

enum err segment_remove(const struct journal_dir *dir, uint64_t number, struct progress *progress)
{
	char name[SEGMENT_NAME];
	segment_name(number, name);
	int      fd = openat(dir->fd, name, O_RDWR | O_CLOEXEC);
	enum err err = segment_delete(dir, number);
	if (fd >= 0 && !err) file_release(fd, progress);
	if (fd >= 0) close(fd);
	return err;
}

bool segment_number_read(const char *name, uint64_t *number)
{
	char *end;
	if (strlen(name) != 24 || strcmp(name + 20, ".seg")) return false;
	*number = strtoull(name, &end, 10);
	return end == name + 20 && *number > 0;
}

enum err segment_bounds(const struct journal_dir *dir, uint64_t *first, uint64_t *last, uint64_t *count)
{
	uint64_t       number;
	struct dirent *entry;
	DIR           *list;
	enum err       err = file_list(dir->fd, ".", &list);
	*first = *last = *count = 0;
	if (err) return ERR_IO;
	while ((entry = readdir(list))) {
		if (!segment_number_read(entry->d_name, &number)) continue;
		if (!*first || number < *first) *first = number;
		if (number > *last) *last = number;
		++*count;
	}
	closedir(list);
	return OK;
}

enum err segment_range(const struct journal_dir *dir, uint64_t *first, uint64_t *last)
{
	uint64_t count;
	enum err err = segment_bounds(dir, first, last, &count);
	if (err) return err;
	return count && *last - *first + 1 != count ? ERR_DAMAGED : OK;
}
