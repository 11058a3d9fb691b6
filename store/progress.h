#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far long work has come, for whoever watches, and how fast it may go: the counts are written by the thread that
 * works and read by any. Zeroed: as fast as it goes. Errors: none. */
struct progress {
	_Atomic uint64_t done,
	    total;               /* bytes of tables, journal or files gone through; total 0: not known yet */
	atomic_bool stop;        /* set by the owner: the work ends soon, with ERR_STOPPED */
	uint64_t    bytes_per_s; /* at most; 0: no limit. The owner's, before the work begins */
	uint64_t    unrested;    /* bytes since the last rest: the worker's */
};

/* Counts work of `progress`, which may be NULL, and tells whether it is to go on; step: and rests when the rate wants it. */
bool progress_count(struct progress *progress, uint64_t bytes);
bool progress_step(struct progress *progress, uint64_t bytes);
