#pragma once
#include "schemas/err.h"

#include <stdint.h>

/* Does the host have what a service needs (actors/rt/needs.h)? Raises this process's limits as far as allowed; children
 * inherit them. Errors (logged, with the needed and the actual value): ERR_UNSUPPORTED. */
must_check enum err means_of_process(void);

/* May a process open as many files as one without connections needs, among them the sessions of http's threads with the shards?
 * Errors (logged): ERR_UNSUPPORTED. */
must_check enum err means_of_descriptors(uint32_t shards, uint32_t http_threads);

/* May a process use as much memory as http with that many threads, and a shard with that --memory, may need? Errors (logged):
 * ERR_UNSUPPORTED. */
must_check enum err means_of_memory(uint32_t http_threads, uint64_t shard_memory_bytes);

/* May as many processes and threads be started as the service has? A container's limit can only be found by trying. Errors (logged):
 * ERR_UNSUPPORTED. */
must_check enum err means_of_tasks(uint32_t shards, uint32_t http_threads);

/* Is there disk space for a new data directory of `shards` shards? True if the file system does not report it. Errors
 * (logged): ERR_STORAGE_FULL. */
must_check enum err means_of_disk(const char *dir, uint32_t shards);
