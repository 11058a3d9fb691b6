#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Progress of long work, readable from any thread, and its rate limit. The working thread writes the counts. Zeroed:
 * no limit. Errors: none. */
struct progress {
	_Atomic uint64_t done, total; /* bytes of tables, journal or files processed; total 0: unknown */
	atomic_bool      stop;        /* set by the owner: the work ends soon with ERR_STOPPED */
	uint64_t         bytes_per_s; /* limit; 0: none. The owner sets it before the work begins */
	uint64_t         unrested;    /* bytes since the last pause: the worker's */
};

/* Count work of `progress`, which may be NULL, and return whether to continue. progress_step() also sleeps to keep
 * the rate. */
bool progress_count(struct progress *progress, uint64_t bytes);
bool progress_step(struct progress *progress, uint64_t bytes);
