/* The mark that decides whether tables survive or are rebuilt from the journal. */
#include "store/trust.h"

#include "schemas/crc32c.h"
#include "schemas/span.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MAX = 256, BOOT_TEXT = 36 };
static const char tables[] = "db/data.mdb";

static enum err boot_id(char text[BOOT_TEXT + 1])
{
	int     fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, BOOT_TEXT);
	if (fd >= 0) close(fd);
	text[n > 0 ? n : 0] = 0;
	return n == BOOT_TEXT ? OK : ERR_IO;
}

/* The whole mark as text; a mark is believed by being equal to one of the two that would be written now. */
static enum err mark_text(const struct stat *st, bool clean, char text[TEXT_MAX])
{
	char     boot[BOOT_TEXT + 1];
	enum err err = boot_id(boot);
	if (err) return err;
	/* A clean file needs no boot: it is on disk. */
	int n = snprintf(text, TEXT_MAX, "stampede-trust=1 state=%s boot=%s device=%ju inode=%ju",
	                 clean ? "clean" : "open", clean ? "any" : boot, (uintmax_t)st->st_dev,
	                 (uintmax_t)st->st_ino);
	snprintf(text + n, (size_t)(TEXT_MAX - n), " crc=%08" PRIx32 "\n", crc32c(0, text, (size_t)n));
	return OK;
}

static ssize_t read_mark(int place_fd, char text[TEXT_MAX])
{
	int     fd = openat(place_fd, "trust", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, TEXT_MAX - 1);
	if (fd >= 0) close(fd);
	text[n > 0 ? n : 0] = 0;
	return n;
}

enum err trust_read(int place_fd, bool *present, bool *trusted)
{
	struct stat st;
	char        text[TEXT_MAX], want[TEXT_MAX];
	*trusted = false;
	*present = !fstatat(place_fd, tables, &st, 0);
	if (!*present) return errno == ENOENT ? OK : ERR_IO;
	if (read_mark(place_fd, text) < 0) return ERR_IO;
	for (int clean = 0; clean < 2 && !*trusted; clean++) {
		enum err err = mark_text(&st, clean, want);
		if (err) return err;
		*trusted = strcmp(text, want) == 0;
	}
	return OK;
}

/* LMDB takes an empty file for one to be made; so the file, and its inode, can be there before it is opened. */
static enum err make_tables(int place_fd, struct stat *st)
{
	int fd = openat(place_fd, tables, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0) return ERR_IO;
	enum err err = fstat(fd, st) ? ERR_IO : OK;
	close(fd);
	return err;
}

enum err trust_write(int place_fd, bool clean)
{
	struct stat st;
	char        text[TEXT_MAX], there[TEXT_MAX];
	enum err    err = fstatat(place_fd, tables, &st, 0) ? make_tables(place_fd, &st) : OK;
	if (err || (err = mark_text(&st, clean, text))) return err;
	if (read_mark(place_fd, there) > 0 && !strcmp(there, text))
		return OK; /* a full disk does not keep us out */
	int fd = openat(place_fd, "trust.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) return ERR_IO;
	size_t size = strlen(text);
	if (write(fd, text, size) != (ssize_t)size || fsync(fd)) err = ERR_IO;
	close(fd);
	if (err) return err;
	return renameat(place_fd, "trust.tmp", place_fd, "trust") || fsync(place_fd) ? ERR_IO : OK;
}
