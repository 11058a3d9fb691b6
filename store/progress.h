#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far long work has come, for whoever watches: written by the thread that works, read by any. */
struct progress {
	_Atomic uint64_t done,
	    total;        /* bytes of tables, journal or files gone through; total 0: not known yet */
	atomic_bool stop; /* set by the owner: the work ends soon, with ERR_STOPPED */
};

/* Counts work of `progress`, which may be NULL; tells whether it is to go on. */
static inline bool progress_add(struct progress *progress, uint64_t bytes)
{
	if (!progress) return true;
	atomic_fetch_add(&progress->done, bytes);
	return !atomic_load(&progress->stop);
}
