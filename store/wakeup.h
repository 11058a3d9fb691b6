#pragma once
#include "schemas/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What other threads wake one thread with, which sleeps on the descriptor `fd` (eventfd; readable after a ring) among
 * others. To look whether it was rung costs the one no system call when it was not. Errors: ERR_IO. */
struct wakeup {
	int         fd;   /* -1: not open */
	atomic_uint rung; /* times, since it was last answered */
	int64_t     owed; /* rings that were answered and not yet read from `fd`; the sleeper's alone */
};

must_check enum err wakeup_open(struct wakeup *wakeup);
void                wakeup_close(struct wakeup *wakeup);

/* By any thread, once what it tells of can be seen. */
void wakeup_signal(struct wakeup *wakeup);

/* By the one that sleeps: was it rung since the last time? It is silent then, before the look at what it told of. */
bool wakeup_clear(struct wakeup *wakeup);
