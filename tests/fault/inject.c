/* The store's calls, and their failures.
 *
 * A failed sync drops everything written to the file since its last successful sync, as a kernel may drop
 * pages that it could not write. A store that ignores the error therefore loses data, which the test detects.
 * For this, every write keeps the bytes that it replaces until the file is synced.
 *
 * A failed commit ends its transaction, as LMDB's own does. */
#include "tests/fault/inject.h"

#include "schemas/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BLOCKS_MAX = 1 << 16, UNDO_MAX = 4096 };

static pthread_mutex_t  mutex = PTHREAD_MUTEX_INITIALIZER;
static struct injection armed;
static unsigned         seen;
static bool             fired;
static pthread_t        newest;

void inject_arm(const struct injection *injection)
{
	pthread_mutex_lock(&mutex);
	armed = *injection;
	seen = 0;
	fired = false;
	pthread_mutex_unlock(&mutex);
}

void inject_disarm(void)
{
	pthread_mutex_lock(&mutex);
	armed.nth = 0;
	pthread_mutex_unlock(&mutex);
}

bool inject_fired(void)
{
	pthread_mutex_lock(&mutex);
	bool has = fired;
	pthread_mutex_unlock(&mutex);
	return has;
}

static bool inject_is_armed(void)
{
	pthread_mutex_lock(&mutex);
	bool is = armed.nth != 0;
	pthread_mutex_unlock(&mutex);
	return is;
}

/* True if this call is the one to fail; then *how is the kind of failure. */
static bool fails(enum call_class class, int *how)
{
	pthread_mutex_lock(&mutex);
	bool counts = armed.nth && armed.class == class;
	if (counts && armed.newest_thread) counts = pthread_equal(pthread_self(), newest);
	if (counts) seen++;
	bool now = counts && (seen == armed.nth || (armed.for_good && seen > armed.nth));
	*how = armed.kind;
	fired |= now;
	pthread_mutex_unlock(&mutex);
	return now;
}

/* Most calls --------------------------------------------------------------------------------------------- */

/* The linker's names for a call and for the real one. Calls with an offset have a 64 at their end where
 * offsets have 64 bits. */
#define C(class, type, name, parameters, arguments, failing) \
	type __real_##name parameters;                       \
	type __wrap_##name parameters;
#include "tests/fault/calls.def"

/* Memory: addresses that are allocated, to find leaks
 * ---------------------------------------------------------- */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__real_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size);
void  __real_free(void *at);
void  __wrap_free(void *at);

static void *held[BLOCKS_MAX];

static unsigned place_of(const void *at)
{
	return (unsigned)((uintptr_t)at >> 4) * 2654435761u % BLOCKS_MAX;
}

static void hold(void *at)
{
	unsigned test_dir = place_of(at), tried = 0;
	if (!at) return;
	pthread_mutex_lock(&mutex);
	while (held[test_dir] && tried++ < BLOCKS_MAX)
		test_dir = (test_dir + 1) % BLOCKS_MAX;
	must(!held[test_dir]);
	held[test_dir] = at;
	pthread_mutex_unlock(&mutex);
}

/* Later entries move up, so that they are found without the removed one. */
static void close_gap(unsigned gap)
{
	for (unsigned at = (gap + 1) % BLOCKS_MAX; held[at]; at = (at + 1) % BLOCKS_MAX) {
		unsigned home = place_of(held[at]);
		bool     stays = gap <= at ? gap < home && home <= at : gap < home || home <= at;
		if (stays) continue;
		held[gap] = held[at];
		held[at] = NULL;
		gap = at;
	}
}

/* Blocks that a library allocated and we free were never recorded. */
static void let_go(const void *at)
{
	unsigned test_dir = place_of(at);
	if (!at) return;
	pthread_mutex_lock(&mutex);
	while (held[test_dir] && held[test_dir] != at)
		test_dir = (test_dir + 1) % BLOCKS_MAX;
	if (held[test_dir]) {
		held[test_dir] = NULL;
		close_gap(test_dir);
	}
	pthread_mutex_unlock(&mutex);
}

unsigned inject_memory_held(void)
{
	unsigned count = 0;
	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < BLOCKS_MAX; i++)
		count += held[i] != NULL;
	pthread_mutex_unlock(&mutex);
	return count;
}

void __wrap_free(void *at)
{
	let_go(at);
	__real_free(at);
}

void *__wrap_malloc(size_t size)
{
	int   how;
	void *at = fails(CALLS_MEMORY, &how) ? NULL : __real_malloc(size);
	hold(at);
	return at;
}

void *__wrap_calloc(size_t count, size_t size)
{
	int   how;
	void *at = fails(CALLS_MEMORY, &how) ? NULL : __real_calloc(count, size);
	hold(at);
	return at;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	int   how;
	void *at = fails(CALLS_MEMORY, &how) ? NULL : __real_aligned_alloc(alignment, size);
	hold(at);
	return at;
}

void *__wrap_realloc(void *at, size_t size)
{
	int how;
	if (fails(CALLS_MEMORY, &how)) return NULL;
	let_go(at);
	void *moved = __real_realloc(at, size);
	hold(moved ? moved : at);
	return moved;
}

static unsigned entries_of(const char *path)
{
	unsigned count = 0;
	DIR     *list = opendir(path);
	must(list);
	while (readdir(list))
		count++;
	closedir(list);
	return count;
}

unsigned inject_files_held(void)
{
	return entries_of("/proc/self/fd");
}

unsigned inject_threads_held(void)
{
	return entries_of("/proc/self/task");
}

/* Writes: what a failed sync drops
 * --------------------------------------------------------------------------- */

ssize_t __real_pwrite64(int fd, const void *from, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *from, size_t size, off_t at);
ssize_t __real_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size);
int     __wrap_fsync(int fd);
int     __wrap_fdatasync(int fd);

static struct undo {
	ino_t  file;
	off_t  at;
	size_t size;
	char  *before;
} undos[UNDO_MAX];
static unsigned undo_count;

static ino_t file_of(int fd)
{
	struct stat st;
	return __real_fstat64(fd, &st) || !S_ISREG(st.st_mode) ? 0 : st.st_ino;
}

/* Keeps the bytes that a write is about to replace. Bytes beyond the file's end read as zeros. */
static void keep(int fd, off_t at, size_t size)
{
	ino_t file = inject_is_armed() ? file_of(fd) : 0;
	if (!file) return;
	char   *before = __real_calloc(1, size);
	ssize_t n = __real_pread64(fd, before, size, at);
	(void)n;
	pthread_mutex_lock(&mutex);
	must(undo_count < UNDO_MAX);
	undos[undo_count++] = (struct undo){file, at, size, before};
	pthread_mutex_unlock(&mutex);
}

/* A sync of a file succeeded or failed: its writes stay, or are undone from the newest to the oldest. */
static void settle(int fd, bool synced)
{
	ino_t file = file_of(fd);
	pthread_mutex_lock(&mutex);
	for (unsigned i = undo_count; i-- > 0;) {
		struct undo *undo = &undos[i];
		if (undo->file != file) continue;
		if (!synced)
			must(__real_pwrite64(fd, undo->before, undo->size, undo->at) == (ssize_t)undo->size);
		__real_free(undo->before);
		memmove(undo, undo + 1, (--undo_count - i) * sizeof *undo);
	}
	pthread_mutex_unlock(&mutex);
}

ssize_t __wrap_pwrite64(int fd, const void *from, size_t size, off_t at)
{
	int  how;
	bool now = fails(CALLS_WRITE, &how);
	if (now && how != SHORT_WRITE) {
		errno = how;
		return -1;
	}
	if (now) size /= 2;
	keep(fd, at, size);
	return __real_pwrite64(fd, from, size, at);
}

ssize_t __wrap_write(int fd, const void *from, size_t size)
{
	int  how;
	bool now = fails(CALLS_WRITE, &how);
	if (now && how != SHORT_WRITE) {
		errno = how;
		return -1;
	}
	if (now) size /= 2;
	keep(fd, __real_lseek64(fd, 0, SEEK_CUR), size);
	return __real_write(fd, from, size);
}

/* The disk itself is not synced: the machine does not crash, and thousands of runs would wait for it. */
int __wrap_fsync(int fd)
{
	int  how;
	bool now = fails(CALLS_SYNC, &how);
	settle(fd, !now);
	if (now) errno = how;
	return now ? -1 : 0;
}

int __wrap_fdatasync(int fd)
{
	return __wrap_fsync(fd);
}

/* Opening, which has an optional mode
 * --------------------------------------------------------------------------- */

int __real_openat64(int fd, const char *path, int flags, ...);
int __wrap_openat64(int fd, const char *path, int flags, ...);
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

int __wrap_openat64(int fd, const char *path, int flags, ...)
{
	va_list rest;
	va_start(rest, flags);
	mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	int how;
	if (fails(CALLS_OPEN, &how)) {
		errno = how;
		return -1;
	}
	int opened = __real_openat64(fd, path, flags, mode);
	/* A new file may have the number of a deleted one. */
	if (opened >= 0 && flags & O_TRUNC) settle(opened, true);
	return opened;
}

int __wrap_open64(const char *path, int flags, ...)
{
	va_list rest;
	va_start(rest, flags);
	mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	int how;
	if (!fails(CALLS_OPEN, &how)) return __real_open64(path, flags, mode);
	errno = how;
	return -1;
}

/* Creating a thread: the last one is recorded
 * -------------------------------------------------------------- */

int __real_pthread_create(pthread_t *id, const pthread_attr_t *with, void *(*run)(void *), void *user);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *with, void *(*run)(void *), void *user);

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *with, void *(*run)(void *), void *user)
{
	int how;
	if (fails(CALLS_THREAD, &how)) return how;
	int refused = __real_pthread_create(id, with, run, user);
	if (refused) return refused;
	pthread_mutex_lock(&mutex);
	newest = *id;
	pthread_mutex_unlock(&mutex);
	return 0;
}

/* A commit always ends its transaction
 * ------------------------------------------------------------------------- */

int __real_mdb_txn_commit(MDB_txn *txn);
int __wrap_mdb_txn_commit(MDB_txn *txn);

int __wrap_mdb_txn_commit(MDB_txn *txn)
{
	int how;
	if (!fails(CALLS_TABLES_COMMIT, &how)) return __real_mdb_txn_commit(txn);
	mdb_txn_abort(txn);
	return how;
}

/* All other calls
 * ----------------------------------------------------------------------------------------------- */

#define C(class, type, name, parameters, arguments, failing)     \
	type __wrap_##name parameters                            \
	{                                                        \
		int kind;                                        \
		if (fails(CALLS_##class, &kind)) return failing; \
		return __real_##name arguments;                  \
	}
#include "tests/fault/calls.def"
