/* The calls that change files: each makes the system call itself and records it; syncs are spared on request. */
#include "tests/crash/recorder_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void emit_plain(struct trace_head head)
{
	recorder_emit(head, NULL, NULL, span_of(NULL, 0));
}

/* Opening and closing ------------------------------------------------------------------------------------- */

static int do_open(int dir_fd, const char *path, int flags, mode_t mode)
{
	struct stat     st;
	struct place_of test_dir;
	int             lie = recorder_lie(path);
	if (lie >= 0) return lie;
	/* Only opens that may change something: others may come from a child that was forked during an action
	 * of its parent. */
	bool recorded = flags & (O_CREAT | O_TRUNC) && recorder_enter(-1);
	bool made = recorded && flags & O_CREAT && !recorder_true_stat(dir_fd, path, 0, &st);
	int  synced = recorder_spares_disk() ? O_SYNC | O_DSYNC : 0;
	int  fd = (int)syscall(SYS_openat, dir_fd, path, flags & ~synced, mode);
	recorder_track(fd, flags);
	if (!recorded || !recorder_is_tracked(fd, &st))
		;
	else if (made && recorder_place_below(dir_fd, path, &test_dir))
		recorder_emit((struct trace_head){.op = TRACE_MAKE, .file = st.st_ino, .dir = test_dir.dir},
		              test_dir.name, NULL, span_of(NULL, 0));
	else if (flags & O_TRUNC)
		emit_plain((struct trace_head){.op = TRACE_RESIZE, .file = st.st_ino});
	recorder_leave(recorded);
	return fd;
}

static mode_t mode_of(int flags, va_list more)
{
	return flags & O_CREAT ? (mode_t)va_arg(more, unsigned) : 0;
}

STANDS_FOR_64(int, open, const char *path, int flags, ...);
int record_open(const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	mode_t mode = mode_of(flags, more);
	va_end(more);
	return do_open(AT_FDCWD, path, flags, mode);
}

STANDS_FOR_64(int, openat, int dir_fd, const char *path, int flags, ...);
int record_openat(int dir_fd, const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	mode_t mode = mode_of(flags, more);
	va_end(more);
	return do_open(dir_fd, path, flags, mode);
}

STANDS_FOR_64(int, creat, const char *path, mode_t mode);
int record_creat(const char *path, mode_t mode)
{
	return do_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

STANDS_FOR(int, dup, int fd);
int record_dup(int fd)
{
	return recorder_became((int)syscall(SYS_dup, fd), fd);
}

STANDS_FOR(int, dup2, int fd, int to);
int record_dup2(int fd, int to)
{
	return recorder_became((int)syscall(SYS_dup2, fd, to), fd);
}

STANDS_FOR(int, dup3, int fd, int to, int flags);
int record_dup3(int fd, int to, int flags)
{
	return recorder_became((int)syscall(SYS_dup3, fd, to, flags), fd);
}

STANDS_FOR(int, close, int fd);
int record_close(int fd)
{
	recorder_became(fd, -1);
	return (int)syscall(SYS_close, fd);
}

/* Writing ------------------------------------------------------------------------------------------------- */

static bool is_zero(const uint8_t *at, size_t size)
{
	return size && at[0] == 0 && memcmp(at, at + 1, size - 1) == 0;
}

static void emit_write(int fd, const struct stat *st, const void *bytes, ssize_t n, off_t at)
{
	struct trace_head head = {.op = TRACE_WRITE,
	                          .file = st->st_ino,
	                          .at = (uint64_t)at,
	                          .length = (uint64_t)n,
	                          .other = recorder_is_dsync(fd)};
	recorder_emit(head, NULL, NULL,
	              is_zero(bytes, (size_t)n) ? span_of(NULL, 0) : span_of(bytes, (size_t)n));
}

/* `at` < 0: the descriptor's position after the write. */
static ssize_t wrote(int fd, const void *bytes, ssize_t n, off_t at)
{
	struct stat st;
	if (n > 0 && recorder_is_tracked(fd, &st))
		emit_write(fd, &st, bytes, n, at < 0 ? (off_t)syscall(SYS_lseek, fd, 0L, SEEK_CUR) - n : at);
	return n;
}

STANDS_FOR(ssize_t, write, int fd, const void *bytes, size_t size);
ssize_t record_write(int fd, const void *bytes, size_t size)
{
	bool    recorded = recorder_enter(fd);
	ssize_t n = wrote(fd, bytes, syscall(SYS_write, fd, bytes, size), -1);
	recorder_leave(recorded);
	return n;
}

STANDS_FOR_64(ssize_t, pwrite, int fd, const void *bytes, size_t size, off_t at);
ssize_t record_pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	bool    recorded = recorder_enter(fd);
	ssize_t n = wrote(fd, bytes, syscall(SYS_pwrite64, fd, bytes, size, at), at);
	recorder_leave(recorded);
	return n;
}

static ssize_t wrote_parts(int fd, const struct iovec *parts, ssize_t n, off_t at)
{
	struct stat st;
	ssize_t     left = n;
	if (n <= 0 || !recorder_is_tracked(fd, &st)) return n;
	if (at < 0) at = (off_t)syscall(SYS_lseek, fd, 0L, SEEK_CUR) - n;
	for (; left > 0; parts++) {
		ssize_t part = left < (ssize_t)parts->iov_len ? left : (ssize_t)parts->iov_len;
		if (part) emit_write(fd, &st, parts->iov_base, part, at);
		at += part;
		left -= part;
	}
	return n;
}

STANDS_FOR(ssize_t, writev, int fd, const struct iovec *parts, int count);
ssize_t record_writev(int fd, const struct iovec *parts, int count)
{
	bool    recorded = recorder_enter(fd);
	ssize_t n = wrote_parts(fd, parts, syscall(SYS_writev, fd, parts, count), -1);
	recorder_leave(recorded);
	return n;
}

STANDS_FOR_64(ssize_t, pwritev, int fd, const struct iovec *parts, int count, off_t at);
ssize_t record_pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
	bool    recorded = recorder_enter(fd);
	ssize_t n = wrote_parts(fd, parts, syscall(SYS_pwritev, fd, parts, count, at, 0L), at);
	recorder_leave(recorded);
	return n;
}

STANDS_FOR_64(int, ftruncate, int fd, off_t size);
int record_ftruncate(int fd, off_t size)
{
	struct stat st;
	bool        recorded = recorder_enter(fd);
	int         rc = (int)syscall(SYS_ftruncate, fd, size);
	if (!rc && recorder_is_tracked(fd, &st))
		emit_plain((struct trace_head){.op = TRACE_RESIZE, .file = st.st_ino, .at = (uint64_t)size});
	recorder_leave(recorded);
	return rc;
}

STANDS_FOR_64(int, fallocate, int fd, int mode, off_t at, off_t size);
int record_fallocate(int fd, int mode, off_t at, off_t size)
{
	if (mode == FALLOC_FL_KEEP_SIZE) return 0;
	return (int)syscall(SYS_fallocate, fd, mode, at, size);
}

static int refuse_copy(int number)
{
	errno = number;
	return -1;
}

STANDS_FOR(ssize_t, copy_file_range, void); /* its parameters do not matter */
ssize_t record_copy_file_range(void)
{
	return refuse_copy(EXDEV);
}

STANDS_FOR_64(ssize_t, sendfile, int out, int in, off_t *at, size_t size);
ssize_t record_sendfile(int out, int in, off_t *at, size_t size)
{
	struct stat st;
	return recorder_is_tracked(out, &st) ? refuse_copy(EINVAL) : syscall(SYS_sendfile, out, in, at, size);
}

/* Syncing ------------------------------------------------------------------------------------------------- */

static int sync_by(long call, int fd)
{
	struct stat       st;
	struct trace_head head = {.op = TRACE_SYNC_BEGIN, .at = (uint64_t)syscall(SYS_gettid)};
	bool              recorded = recorder_enter(fd), told = recorder_is_tracked(fd, &st);
	if (told) head.file = st.st_ino;
	if (told) emit_plain(head);
	recorder_leave(recorded);
	if (told && recorder_sync_time().v) usleep((useconds_t)recorder_sync_time().v);
	int rc = recorder_spares_disk() ? 0 : (int)syscall(call, fd);
	recorded = recorder_enter(fd);
	head.op = TRACE_SYNC_END;
	if (told && !rc) emit_plain(head);
	recorder_leave(recorded);
	return rc;
}

STANDS_FOR(int, fsync, int fd);
int record_fsync(int fd)
{
	return sync_by(SYS_fsync, fd);
}

STANDS_FOR(int, fdatasync, int fd);
int record_fdatasync(int fd)
{
	return sync_by(SYS_fdatasync, fd);
}

STANDS_FOR_64(int, sync_file_range, int fd, off_t at, off_t size, unsigned flags);
int record_sync_file_range(int fd, off_t at, off_t size, unsigned flags)
{
	return recorder_spares_disk() ? 0 : (int)syscall(SYS_sync_file_range, fd, at, size, flags);
}

/* Names --------------------------------------------------------------------------------------------------- */

STANDS_FOR(int, renameat2, int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int record_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	struct stat     st;
	struct place_of old, new;
	bool            recorded = recorder_enter(-1);
	bool told = recorder_place_below(from_fd, from, &old) && recorder_place_below(to_fd, to, &new) &&
	            recorder_true_stat(from_fd, from, AT_SYMLINK_NOFOLLOW, &st);
	int rc = (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
	if (!rc && told)
		recorder_emit(
		    (struct trace_head){
		        .op = TRACE_RENAME, .file = st.st_ino, .dir = old.dir, .other = new.dir},
		    old.name, new.name, span_of(NULL, 0));
	recorder_leave(recorded);
	return rc;
}

STANDS_FOR(int, renameat, int from_fd, const char *from, int to_fd, const char *to);
int record_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return record_renameat2(from_fd, from, to_fd, to, 0);
}

STANDS_FOR(int, rename, const char *from, const char *to);
int record_rename(const char *from, const char *to)
{
	return record_renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

STANDS_FOR(int, linkat, int from_fd, const char *from, int to_fd, const char *to, int flags);
int record_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	struct stat st;
	struct place_of new;
	bool recorded = recorder_enter(-1);
	int  rc = (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
	if (!rc && recorder_place_below(to_fd, to, &new) &&
	    recorder_true_stat(to_fd, to, AT_SYMLINK_NOFOLLOW, &st))
		recorder_emit((struct trace_head){.op = TRACE_LINK, .file = st.st_ino, .dir = new.dir},
		              new.name, NULL, span_of(NULL, 0));
	recorder_leave(recorded);
	return rc;
}

STANDS_FOR(int, link, const char *from, const char *to);
int record_link(const char *from, const char *to)
{
	return record_linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

STANDS_FOR(int, unlinkat, int dir_fd, const char *path, int flags);
int record_unlinkat(int dir_fd, const char *path, int flags)
{
	struct place_of test_dir;
	bool            recorded = recorder_enter(-1);
	int             rc = (int)syscall(SYS_unlinkat, dir_fd, path, flags);
	if (!rc && recorder_place_below(dir_fd, path, &test_dir))
		recorder_emit((struct trace_head){.op = TRACE_UNLINK, .dir = test_dir.dir}, test_dir.name,
		              NULL, span_of(NULL, 0));
	recorder_leave(recorded);
	return rc;
}

STANDS_FOR(int, unlink, const char *path);
int record_unlink(const char *path)
{
	return record_unlinkat(AT_FDCWD, path, 0);
}

STANDS_FOR(int, rmdir, const char *path);
int record_rmdir(const char *path)
{
	return record_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

STANDS_FOR(int, mkdirat, int dir_fd, const char *path, mode_t mode);
int record_mkdirat(int dir_fd, const char *path, mode_t mode)
{
	struct stat     st;
	struct place_of test_dir;
	bool            recorded = recorder_enter(-1);
	int             rc = (int)syscall(SYS_mkdirat, dir_fd, path, mode);
	if (rc || !recorded)
		;
	else if (recorder_place_below(dir_fd, path, &test_dir) && recorder_true_stat(dir_fd, path, 0, &st))
		recorder_emit(
		    (struct trace_head){.op = TRACE_MAKE, .file = st.st_ino, .dir = test_dir.dir, .at = 1},
		    test_dir.name, NULL, span_of(NULL, 0));
	else
		recorder_emit_root(dir_fd, path);
	recorder_leave(recorded);
	return rc;
}

STANDS_FOR(int, mkdir, const char *path, mode_t mode);
int record_mkdir(const char *path, mode_t mode)
{
	return record_mkdirat(AT_FDCWD, path, mode);
}
