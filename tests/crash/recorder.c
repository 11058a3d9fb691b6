/* The recorder. The functions of recorder_calls.c have the names of the C library's, so that the store's
 * calls and LMDB's arrive there first; each makes the system call itself, but syncs only
 * if the disk is not to be spared. A successful call is written to the
 * trace before the caller returns, so an entry never precedes its action, and everything that follows from
 * the action comes after it. A sync makes two entries, because only what was written before its beginning is
 * certain at its end.
 *
 * Space reserved with fallocate() is neither recorded nor really reserved: states are built in memory. Copies
 * inside the kernel are refused, as some file systems do, so that the bytes pass through here. */
#include "tests/crash/recorder_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FDS = 1024, PATH_BYTES = 4096, TRACKED = 1, TRACKED_DSYNC = 3 };

static int      trace_fd = -1;
static char     root[PATH_BYTES];
static size_t   root_size;
static uint8_t  tracked[FDS]; /* by descriptor: true if it is below the root */
static unsigned entries_left;
static unsigned counted_ops;
static dur_us   sync_time;
static bool     spares_disk;

/* Held from before an action until its entry is written: a process that dies by recorder_die_after() has
 * recorded all its actions. */
static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;

/* Entries ------------------------------------------------------------------------------------------------- */

_Noreturn void recorder_give_up(const char *what)
{
	dprintf(2, "recorder: %s: %m\n", what);
	_exit(99);
}

void recorder_emit(struct trace_head head, const char *name, const char *new_name, struct span bytes)
{
	size_t first = name ? strlen(name) + 1 : 0, second = new_name ? strlen(new_name) + 1 : 0;
	head.name_size = (uint16_t)(first + second);
	head.size = (uint32_t)(sizeof head + first + second + bytes.size);
	struct iovec parts[] = {{&head, sizeof head},
	                        {(void *)(uintptr_t)name, first},
	                        {(void *)(uintptr_t)new_name, second},
	                        {(void *)(uintptr_t)bytes.at, bytes.size}};
	if (syscall(SYS_writev, trace_fd, parts, 4) != head.size) recorder_give_up("trace");
	if (counted_ops >> head.op & 1 && --entries_left == 0) syscall(SYS_exit_group, 0);
}

bool recorder_enter(int fd)
{
	bool recorded = trace_fd >= 0 && fd < FDS && (fd < 0 || tracked[fd]);
	if (recorded) pthread_mutex_lock(&telling);
	return recorded;
}

void recorder_leave(bool recorded)
{
	if (recorded) pthread_mutex_unlock(&telling);
}

static void emit_plain(struct trace_head head)
{
	recorder_emit(head, NULL, NULL, span_of(NULL, 0));
}

static void mark_bytes(enum trace_mark mark, uint64_t length, uint64_t other, struct span bytes)
{
	struct trace_head head = {.op = TRACE_MARK, .at = mark, .length = length, .other = other};
	bool              recorded = recorder_enter(-1);
	if (recorded) recorder_emit(head, NULL, NULL, bytes);
	recorder_leave(recorded);
}

void recorder_mark(enum trace_mark mark, uint64_t length, uint64_t other)
{
	mark_bytes(mark, length, other, span_of(NULL, 0));
}

void recorder_mark_restored(uint64_t seq, uint32_t chain, struct span operations)
{
	mark_bytes(MARK_RESTORED, seq, chain, operations);
}

/* True if the descriptor is a file or directory below the root; then also its path. */
static bool path_below(int fd, char path[PATH_BYTES])
{
	char    link[64];
	int     saved = errno;
	ssize_t n;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_BYTES - 1);
	errno = saved;
	if (n <= 0) return false;
	path[n] = 0;
	return !strncmp(path, root, root_size) && (path[root_size] == 0 || path[root_size] == '/');
}

bool recorder_true_stat(int fd, const char *path, int flags, struct stat *st)
{
	int  saved = errno;
	bool ok = syscall(SYS_newfstatat, fd, path, st, flags) == 0;
	errno = saved;
	return ok;
}

bool recorder_place_below(int dir_fd, const char *path, struct place_of *test_dir)
{
	char        parent[PATH_BYTES], full[PATH_BYTES];
	struct stat st;
	const char *slash = strrchr(path, '/');
	if (trace_fd < 0) return false;
	snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	snprintf(test_dir->name, sizeof test_dir->name, "%s", slash ? slash + 1 : path);
	int  fd = (int)syscall(SYS_openat, dir_fd, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool below = fd >= 0 && path_below(fd, full) && recorder_true_stat(fd, "", AT_EMPTY_PATH, &st);
	if (below) test_dir->dir = st.st_ino;
	if (fd >= 0) syscall(SYS_close, fd);
	return below;
}

/* Descriptors --------------------------------------------------------------------------------------------- */

void recorder_track(int fd, int flags)
{
	char path[PATH_BYTES];
	if (fd < 0 || fd >= FDS || trace_fd < 0) return;
	tracked[fd] = !path_below(fd, path) ? 0 : flags & (O_DSYNC | O_SYNC) ? TRACKED_DSYNC : TRACKED;
}

/* A descriptor's inode, if it is recorded. The C library may have closed the descriptor without a call, so it
 * is checked again. */
bool recorder_is_tracked(int fd, struct stat *st)
{
	char path[PATH_BYTES];
	return trace_fd >= 0 && fd >= 0 && fd < FDS && tracked[fd] &&
	       recorder_true_stat(fd, "", AT_EMPTY_PATH, st) &&
	       (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)) && (st->st_nlink == 0 || path_below(fd, path));
}

int recorder_became(int fd, int from)
{
	if (fd >= 0 && fd < FDS) tracked[fd] = from >= 0 && from < FDS ? tracked[from] : 0;
	return fd;
}

bool recorder_is_dsync(int fd)
{
	return tracked[fd] == TRACKED_DSYNC;
}

void recorder_emit_root(int dir_fd, const char *path)
{
	char        full[PATH_BYTES];
	struct stat st;
	int         fd = (int)syscall(SYS_openat, dir_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && path_below(fd, full) && full[root_size] == 0 &&
	    recorder_true_stat(fd, "", AT_EMPTY_PATH, &st))
		emit_plain((struct trace_head){.op = TRACE_ROOT, .file = st.st_ino, .at = st.st_dev});
	if (fd >= 0) syscall(SYS_close, fd);
}

/* Start
 * --------------------------------------------------------------------------------------------------- */

void recorder_begin(const char *dir, const char *trace)
{
	root_size = (size_t)snprintf(root, sizeof root, "%s", dir);
	if (root_size >= sizeof root) recorder_give_up("path too long");
	trace_fd = (int)syscall(SYS_openat, AT_FDCWD, trace, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (trace_fd < 0) recorder_give_up(trace);
	/* A high number, for programs that rely on low descriptors or close them all. */
	int high = (int)syscall(SYS_fcntl, trace_fd, F_DUPFD_CLOEXEC, FDS / 4);
	if (high >= 0) {
		syscall(SYS_close, trace_fd);
		trace_fd = high;
	}
	for (int fd = 0; fd < FDS; fd++)
		recorder_track(fd, 0);
	recorder_emit_root(AT_FDCWD, dir);
}

dur_us recorder_sync_time(void)
{
	return sync_time;
}

bool recorder_spares_disk(void)
{
	return spares_disk;
}

void recorder_end(void)
{
	(void)recorder_enter(-1);
}

void recorder_slow_syncs(dur_us each)
{
	sync_time = each;
}

void recorder_spare_disk(void)
{
	spares_disk = true;
}

void recorder_die_after(unsigned entries, unsigned ops)
{
	entries_left = entries;
	counted_ops = ops;
}

__attribute__((constructor)) static void begin_by_itself(void)
{
	const char *dir = getenv("STAMPEDE_RECORD_DIR"), *trace = getenv("STAMPEDE_RECORD_TRACE");
	if (dir && trace) recorder_begin(dir, trace);
}
