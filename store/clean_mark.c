/* The clean-shutdown marker, which decides whether tables are kept or rebuilt. */
#include "store/clean_mark.h"

#include "schemas/crc32c.h"
#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MAX = 256, BOOT_TEXT = 36, SUM_TEXT = 16 };
static const char tables[] = "db/data.mdb", mark[] = "trust", kind[] = "stampede-trust=";
/* Larger tables are trusted without the checksum: reading all of them would exceed the time for a stop. */
static const int64_t sum_bytes_max = INT64_C(16) << 30;

static enum err boot_id(char text[BOOT_TEXT + 1])
{
	int     fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, BOOT_TEXT);
	if (fd >= 0) close(fd);
	text[n > 0 ? n : 0] = 0;
	return n == BOOT_TEXT ? OK : ERR_IO;
}

static enum err sum_text(int shard_fd, const struct stat *st, char text[SUM_TEXT])
{
	uint32_t sum;
	snprintf(text, SUM_TEXT, "none");
	if (st->st_size > sum_bytes_max) return OK;
	int fd = openat(shard_fd, tables, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return ERR_IO;
	enum err err = file_crc32c(fd, &sum);
	close(fd);
	snprintf(text, SUM_TEXT, "%08" PRIx32, sum);
	return err;
}

/* The marker as text. A marker is valid if it equals the one that would be written now. A clean file is on disk, so
 * it is valid in any boot. */
static enum err mark_text(int shard_fd, const struct stat *st, bool clean, char text[TEXT_MAX])
{
	char     boot[BOOT_TEXT + 1] = "any", sum[SUM_TEXT] = "none";
	enum err err = clean ? sum_text(shard_fd, st, sum) : boot_id(boot);
	if (err) return err;
	int n = snprintf(text, TEXT_MAX, "%s%d state=%s boot=%s device=%ju inode=%ju sum=%s", kind,
	                 CLEAN_MARK_VERSION, clean ? "clean" : "open", boot, (uintmax_t)st->st_dev,
	                 (uintmax_t)st->st_ino, sum);
	n += snprintf(text + n, (size_t)(TEXT_MAX - n), " crc=%08" PRIx32, crc32c(0, text, (size_t)n));
	snprintf(text + n, (size_t)(TEXT_MAX - n), "%*s\n", TEXT_MAX - 2 - n, "");
	return OK;
}

static enum err read_mark(int shard_fd, char text[TEXT_MAX])
{
	struct buffer bytes = {0};
	enum err      err = file_load(shard_fd, mark, TEXT_MAX, &bytes);
	bool          whole = !err && bytes.size == TEXT_MAX && bytes.at[TEXT_MAX - 1] == 0;
	memset(text, 0, TEXT_MAX);
	if (whole) memcpy(text, bytes.at, TEXT_MAX);
	buffer_free(&bytes);
	return err == ERR_NOT_FOUND || err == ERR_DAMAGED ? OK : err; /* no marker, or a malformed one */
}

/* The version of a marker whose checksum, the last thing in it, holds; 0: it is none. */
static uint64_t version_of(const char text[TEXT_MAX])
{
	const char *crc = strstr(text, " crc=");
	char        sum[SUM_TEXT + 8];
	if (strncmp(text, kind, strlen(kind)) || !crc) return 0;
	snprintf(sum, sizeof sum, " crc=%08" PRIx32, crc32c(0, text, (size_t)(crc - text)));
	return strncmp(crc, sum, strlen(sum)) ? 0 : strtoull(text + strlen(kind), NULL, 10);
}

static bool is_known(const char text[TEXT_MAX])
{
	uint64_t version = version_of(text);
	return version == 0 || version == CLEAN_MARK_VERSION;
}

void clean_mark_refusal(int shard_fd, char why[VERSION_TEXT])
{
	char text[TEXT_MAX];
	if (read_mark(shard_fd, text)) text[0] = 0;
	version_refusal(VERSION_OF_DATA, mark, version_of(text), CLEAN_MARK_VERSION, why);
}

enum err clean_mark_read(int shard_fd, bool *present, enum clean_mark *clean_mark)
{
	struct stat st;
	char        text[TEXT_MAX], want[TEXT_MAX] = {0};
	enum err    err;
	*clean_mark = CLEAN_MARK_NONE;
	*present = !fstatat(shard_fd, tables, &st, 0);
	if (!*present) return errno == ENOENT ? OK : ERR_IO;
	if ((err = read_mark(shard_fd, text))) return err;
	bool clean = strstr(text, " state=clean ") != NULL;
	if (!text[0]) return OK;
	if (!is_known(text)) return ERR_UNSUPPORTED;
	if ((err = mark_text(shard_fd, &st, clean, want)))
		return clean && err == ERR_IO ? OK : err; /* unreadable */
#ifdef FAULT_TRUST_ANY
	*clean_mark = CLEAN_MARK_OPEN; /* the fault: another boot's tables are trusted */
#endif
	if (memcmp(text, want, TEXT_MAX) == 0) *clean_mark = clean ? CLEAN_MARK_CLEAN : CLEAN_MARK_OPEN;
	return OK;
}

/* A whole marker of this very file that is clean, but not valid, means that the tables have changed since. */
enum err clean_mark_flaw(int shard_fd, const char **flaw)
{
	struct stat st;
	char        text[TEXT_MAX], file[64];
	*flaw = NULL;
	if (fstatat(shard_fd, mark, &st, 0) || st.st_size == 0) return OK; /* there is none */
	enum err err = read_mark(shard_fd, text);
	if (err) return err;
	if (version_of(text) == 0) *flaw = "trust: the mark is damaged";
	if (*flaw || fstatat(shard_fd, tables, &st, 0)) return OK;
	snprintf(file, sizeof file, " device=%ju inode=%ju ", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	if (strstr(text, " state=clean ") && strstr(text, file))
		*flaw = "tables: db/data.mdb is not what a clean stop has left";
	return OK;
}

/* LMDB initialises an empty file, so the file and its inode can exist before it is opened. */
static enum err make_tables(int shard_fd, struct stat *st)
{
	int fd = openat(shard_fd, tables, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0) return ERR_IO;
	enum err err = fstat(fd, st) ? ERR_IO : OK;
	close(fd);
	return err;
}

/* Overwritten in place with a constant size, so that it works on a full disk. A torn marker is invalid, and the
 * tables are rebuilt. */
static enum err write_mark(int shard_fd, const char text[TEXT_MAX])
{
	int fd = openat(shard_fd, mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0) return ERR_IO;
	enum err err = file_write_all(fd, text, TEXT_MAX, 0);
	if (!err && fsync(fd)) err = ERR_IO;
	close(fd);
	return err ? err : file_sync_dir(shard_fd);
}

/* An existing marker may be in the page cache only, if its writer was killed. */
static enum err sync_mark(int shard_fd)
{
	int fd = openat(shard_fd, mark, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return ERR_IO;
	enum err err = fsync(fd) ? ERR_IO : file_sync_dir(shard_fd);
	close(fd);
	return err;
}

enum err clean_mark_write(int shard_fd, bool clean)
{
	struct stat st;
	char        text[TEXT_MAX] = {0}, there[TEXT_MAX];
	enum err    err = fstatat(shard_fd, tables, &st, 0) ? make_tables(shard_fd, &st) : OK;
	if (err || (err = mark_text(shard_fd, &st, clean, text))) return err;
	if (!read_mark(shard_fd, there) && !memcmp(there, text, TEXT_MAX)) return sync_mark(shard_fd);
	return write_mark(shard_fd, text);
}

void clean_mark_remove(int shard_fd)
{
	(void)!unlinkat(shard_fd, mark, 0);
	(void)!fsync(shard_fd);
}
