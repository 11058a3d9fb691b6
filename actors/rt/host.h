#pragma once
#include <stdint.h>

/* What this process may use of the host: the host's own number, or less if its processor affinity or a control group around it
 * (cgroup v2, as containers and systemd's CPUQuota= and MemoryMax= have) permits less. Errors: none; a limit that cannot be
 * read is none. */
uint32_t host_processors(void); /* at least 1; a part of a processor counts as one */
uint64_t host_memory_bytes(void);

/* The limits of control groups alone. `own` has the process's group, as /proc/self/cgroup; `groups` is where they are mounted.
 * Without a limit UINT32_MAX and UINT64_MAX. */
struct host_limits {
	uint32_t processors;
	uint64_t memory_bytes;
};
struct host_limits host_limits_read(const char *own, const char *groups);
