/* Checks the host's resources before anything is created: with too little, the service would fail later, in the middle of its
 * work. */
#include "actors/supervisor/means.h"
#include "actors/rt/channel.h"
#include "actors/rt/log.h"
#include "actors/rt/needs.h"
#include "schemas/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Raises the limit as far as allowed; if that is below `needed`, logs it. */
static enum err raise_limit(__rlimit_resource_t resource, const char *name, uint64_t needed,
                            const char *advice)
{
	struct rlimit limit, raised;

	if (getrlimit(resource, &limit)) return OK;
	raised = (struct rlimit){.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
	if (limit.rlim_cur != limit.rlim_max && !setrlimit(resource, &raised)) limit = raised;
	if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed) return OK;
	log_fatal("limit_too_low", "limit=%s needed=%" PRIu64 " allowed=%" PRIu64 " reason=\"%s\"", name,
	          needed, (uint64_t)limit.rlim_cur, advice);
	return ERR_UNSUPPORTED;
}

static enum err look_at_stack(void)
{
	uint64_t allowed;

	if (needs_stack(&allowed)) return OK;
	log_fatal("limit_too_low",
	          "limit=RLIMIT_STACK needed=%d allowed=%" PRIu64
	          " reason=\"a thread has too little stack: raise ulimit -s, in KiB, or LimitSTACK= of the "
	          "unit\"",
	          NEEDS_STACK_BYTES, allowed);
	return ERR_UNSUPPORTED;
}

/* A process that reaches it is killed; a service runs on and on. */
static void look_at_cpu_time(void)
{
	struct rlimit limit, raised;

	if (getrlimit(RLIMIT_CPU, &limit) || limit.rlim_cur == RLIM_INFINITY) return;
	raised = (struct rlimit){.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
	if (!setrlimit(RLIMIT_CPU, &raised)) limit = raised;
	if (limit.rlim_cur == RLIM_INFINITY) return;
	log_warn("cpu_time_limited",
	         "limit=RLIMIT_CPU seconds=%" PRIu64
	         " reason=\"a process is killed after so much processor time: remove ulimit -t, or LimitCPU= "
	         "of the unit\"",
	         (uint64_t)limit.rlim_cur);
}

/* Limits of descriptors and threads are looked at when it is known how many are needed. */
static enum err look_for_calls(void)
{
	const char *lack = channel_lack();

	if (!lack || errno == EMFILE || errno == EAGAIN) return OK;
	bool is_filtered = errno == EPERM || errno == ENOSYS || errno == EACCES;
	log_fatal("system_call_refused", "what=\"%s\" error=\"%s\" reason=\"%s\"", lack, strerror(errno),
	          is_filtered ? "a filter of system calls refuses it, such as a container's seccomp profile"
	                      : "the system has none left");
	return ERR_UNSUPPORTED;
}

/* Those that the parent left this process. Its children close them; its own have FD_CLOEXEC. */
static uint32_t inherited_descriptors(void)
{
	DIR                 *list = opendir("/proc/self/fd");
	const struct dirent *entry;
	uint32_t             count = 0;

	while (list && (entry = readdir(list))) {
		int fd = (int)strtoll(entry->d_name, NULL, 10); /* 0: `.` and `..` */
		int flags = fd > STDERR_FILENO ? fcntl(fd, F_GETFD) : -1;
		count += flags >= 0 && !(flags & FD_CLOEXEC);
	}
	if (list) closedir(list);
	return count;
}

static bool is_readable(const char *path)
{
	char    byte;
	int     fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, &byte, 1);

	if (fd >= 0) close(fd);
	if (!n) errno = ENODATA;
	return n == 1;
}

/* Every process names its sockets by /proc/self/fd, and a shard knows by the boot's id whether its tables are from before it. */
static enum err look_for_proc(void)
{
	static const char self[] = "/proc/self/fd", boot[] = "/proc/sys/kernel/random/boot_id";
	const char       *missing = access(self, X_OK) ? self : is_readable(boot) ? NULL : boot;

	if (!missing) return OK;
	log_fatal("no_proc", "path=%s error=\"%s\" reason=\"/proc must be mounted where the service runs\"",
	          missing, strerror(errno));
	return ERR_UNSUPPORTED;
}

/* A processor or kernel with 39 bits of addresses has too few, whatever the limits are. */
static enum err look_for_addresses(void)
{
	void *probe = mmap(NULL, NEEDS_ADDRESSES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
	                   0);

	if (probe != MAP_FAILED) {
		munmap(probe, NEEDS_ADDRESSES);
		return OK;
	}
	log_fatal(
	    "too_few_addresses",
	    "needed=%llu error=\"%s\" reason=\"a process cannot map the tables: this kernel offers too few "
	    "addresses (39 bits, often on ARM; 48 are needed), or another limit is in the way\"",
	    (unsigned long long)NEEDS_ADDRESSES, strerror(errno));
	return ERR_UNSUPPORTED;
}

enum err means_of_process(void)
{
	static const struct {
		__rlimit_resource_t resource;
		uint64_t            needed;
		const char         *name, *advice;
	} needs[] = {
	    {RLIMIT_AS, NEEDS_ADDRESSES, "RLIMIT_AS",
	     "a process may map too little memory: raise ulimit -v, in KiB, or LimitAS= of the unit"},
	    {RLIMIT_FSIZE, NEEDS_FILE_BYTES, "RLIMIT_FSIZE",
	     "a file may be too small: raise ulimit -f, in KiB, or LimitFSIZE= of the unit"},
	};
	enum err err = look_for_proc();

	for (size_t i = 0; !err && i < sizeof needs / sizeof *needs; i++)
		err = raise_limit(needs[i].resource, needs[i].name, needs[i].needed, needs[i].advice);
	if (!err) err = look_for_addresses();
	if (!err) err = look_at_stack();
	if (!err) err = look_for_calls();
	if (!err) look_at_cpu_time();
	return err ? err : needs_libcurl();
}

enum err means_of_descriptors(uint32_t shards, uint32_t http_threads)
{
	uint64_t http = NEEDS_DESCRIPTORS + (uint64_t)shards * http_threads * NEEDS_SESSION_DESCRIPTORS;
	uint64_t supervisor = (uint64_t)inherited_descriptors() + NEEDS_SUPERVISOR_DESCRIPTORS +
	                      (shards + UINT64_C(2)) * NEEDS_CHILD_DESCRIPTORS;

	return raise_limit(
	    RLIMIT_NOFILE, "RLIMIT_NOFILE", http > supervisor ? http : supervisor,
	    http > supervisor
	        ? "a process may open too few files: raise ulimit -n, or LimitNOFILE= of the unit"
	        : "the parent of this process left too many files open: close them, or raise "
	          "ulimit -n");
}

enum err means_of_memory(uint32_t http_threads, uint64_t shard_memory_bytes)
{
	uint64_t http = NEEDS_HTTP_DATA_BYTES + http_threads * NEEDS_THREAD_DATA_BYTES;
	uint64_t shard = NEEDS_SHARD_DATA_BYTES + needs_lists(shard_memory_bytes) + shard_memory_bytes +
	                 shard_memory_bytes / 8; /* unused between slabs */

	return raise_limit(RLIMIT_DATA, "RLIMIT_DATA", http > shard ? http : shard,
	                   http > shard
	                       ? "the http process may use too little memory: raise ulimit -d, in KiB, or "
	                         "LimitDATA= of the unit, or lower --http-threads"
	                       : "a shard may use too little memory: raise ulimit -d, in KiB, or "
	                         "LimitDATA= of the unit, or lower --memory");
}

enum err means_of_tasks(uint32_t shards, uint32_t http_threads)
{
	uint32_t needed = NEEDS_FLOOR_TASKS + shards * NEEDS_SHARD_TASKS + http_threads;
	int      error;
	uint32_t allowed = needs_threads(needed, &error);

	if (allowed == needed) return OK;
	if (error != EAGAIN) {
		log_fatal("system_call_refused", "what=\"a thread\" error=\"%s\" number=%u", strerror(error),
		          allowed + 1);
		return ERR_UNSUPPORTED;
	}
	log_fatal(
	    "limit_too_low",
	    "limit=RLIMIT_NPROC needed=%u allowed=%u reason=\"too few processes and threads may be started: "
	    "raise ulimit -u, TasksMax= of the unit, or the container's limit of pids\"",
	    needed, allowed);
	return ERR_UNSUPPORTED;
}

/* The file system of `dir`, or of its nearest existing parent. */
static bool look_at_disk(const char *dir, struct statvfs *disk)
{
	char  path[4096];
	char *slash;

	if (snprintf(path, sizeof path, "%s", dir) >= (int)sizeof path) return false;
	while (statvfs(path, disk)) {
		if (errno != ENOENT) return false;
		if (!(slash = strrchr(path, '/'))) return statvfs(".", disk) == 0;
		slash[slash == path] = 0; /* the root is its own slash */
	}
	return true;
}

/* A file system can have room for bytes and none for another file. One that makes its inodes as needed reports none at all. */
static enum err look_at_files(const char *dir, const struct statvfs *disk, uint32_t shards)
{
	uint64_t needed = (uint64_t)shards * NEEDS_SHARD_FILES + NEEDS_FLOOR_FILES;

	if (!disk->f_files || disk->f_favail >= needed) return OK;
	log_fatal("disk_too_few_files",
	          "data=\"%s\" needed_files=%" PRIu64 " free_files=%" PRIu64
	          " reason=\"the file system has too few free inodes for a new directory: see df -i\"",
	          dir, needed, (uint64_t)disk->f_favail);
	return ERR_STORAGE_FULL;
}

enum err means_of_disk(const char *dir, uint32_t shards)
{
	struct statvfs disk;
	uint64_t       needed = shards * NEEDS_SHARD_BYTES + NEEDS_FLOOR_BYTES, free_bytes;

	if (!look_at_disk(dir, &disk)) return OK; /* the creation of the directory reports the fault */
	free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (free_bytes >= needed) return look_at_files(dir, &disk, shards);
	log_fatal("disk_too_small",
	          "data=\"%s\" needed_bytes=%" PRIu64 " free_bytes=%" PRIu64
	          " reason=\"a new directory of %u shards needs that much\"",
	          dir, needed, free_bytes, shards);
	return ERR_STORAGE_FULL;
}
