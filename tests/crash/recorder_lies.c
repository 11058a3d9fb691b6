/* The host's boot and the inodes of files that a state sees. */
#include "tests/crash/recorder_inside.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ALIASES = 8192 };

static unsigned boot;

static struct alias {
	struct file_id is, was;
} aliases[ALIASES];
static unsigned alias_count;

int recorder_lie(const char *path)
{
	if (!boot || strcmp(path, "/proc/sys/kernel/random/boot_id")) return -1;
	char id[64];
	int  n = snprintf(id, sizeof id, "00000000-0000-4000-8000-%012u\n", boot);
	int  fd = memfd_create("boot_id", MFD_CLOEXEC);
	if (fd < 0 || syscall(SYS_pwrite64, fd, id, (size_t)n, 0L) != n) recorder_give_up("boot_id");
	return fd;
}

void recorder_boot(unsigned number)
{
	boot = number;
}

void recorder_forget_aliases(void)
{
	alias_count = 0;
}

void recorder_alias(struct file_id is, struct file_id was)
{
	if (alias_count == ALIASES) recorder_give_up("too many files");
	aliases[alias_count++] = (struct alias){is, was};
}

static int with_alias(int rc, struct stat *st)
{
	for (unsigned i = 0; !rc && i < alias_count; i++)
		if (aliases[i].is.inode == st->st_ino && aliases[i].is.device == st->st_dev) {
			st->st_dev = aliases[i].was.device;
			st->st_ino = aliases[i].was.inode;
			break;
		}
	return rc;
}

STANDS_FOR_64(int, fstatat, int dir_fd, const char *path, struct stat *st, int flags);
int record_fstatat(int dir_fd, const char *path, struct stat *st, int flags)
{
	return with_alias((int)syscall(SYS_newfstatat, dir_fd, path, st, flags), st);
}

STANDS_FOR_64(int, fstat, int fd, struct stat *st);
int record_fstat(int fd, struct stat *st)
{
	return with_alias((int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH), st);
}

STANDS_FOR_64(int, stat, const char *path, struct stat *st);
int record_stat(const char *path, struct stat *st)
{
	return record_fstatat(AT_FDCWD, path, st, 0);
}
