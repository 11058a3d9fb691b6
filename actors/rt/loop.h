#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"

#include <stdbool.h>

/* Waits for a few descriptors (epoll, level-triggered). The process works in its turn function between waits; there are no
 * callbacks. Errors: ERR_IO, ERR_NO_MEMORY. */
enum { LOOP_READY_MAX = 8 };
struct loop {
	int epoll_fd;
	int ready_count; /* of the last wait; at LOOP_READY_MAX there may be more */
	int ready[LOOP_READY_MAX];
};

must_check enum err loop_open(struct loop *loop);
void                loop_close(struct loop *loop);
must_check enum err loop_watch(struct loop *loop, int fd); /* for reading */

/* Sleeps until a descriptor is readable or `wait` has passed (0: only checks). An interruption counts as a wake-up. */
void loop_wait(struct loop *loop, dur_us wait);

/* Was `fd` readable in the last wait? True also if unknown. Checking everything costs a system call each; this is for sources
 * that are checked only when ready. */
bool loop_is_ready(const struct loop *loop, int fd);
