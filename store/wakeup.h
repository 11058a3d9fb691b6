#pragma once
#include "schemas/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Lets threads wake one thread that sleeps on the descriptor `fd` (eventfd; readable after a signal) among others. A
 * check that finds no signal costs the sleeper no system call. Errors: ERR_IO. */
struct wakeup {
	int         fd;   /* -1: not open */
	atomic_uint rung; /* signals since the last wakeup_clear() */
	int64_t     owed; /* signals cleared but not yet read from `fd`; the sleeper's alone */
};

must_check enum err wakeup_open(struct wakeup *wakeup);
void                wakeup_close(struct wakeup *wakeup);

/* By any thread, after the change that it announces is visible. */
void wakeup_signal(struct wakeup *wakeup);

/* By the sleeper, before it looks for the change: was there a signal since the last call? Silences `fd`. */
bool wakeup_clear(struct wakeup *wakeup);
