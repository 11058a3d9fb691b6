#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"

/* Waiting for a handful of descriptors (epoll, level-triggered). The process' own work is done by its turn
 * function between waits; nothing is called back. Errors: ERR_IO, ERR_NO_MEMORY. */
struct loop {
	int epoll_fd;
};

must_check enum err loop_open(struct loop *loop);
void                loop_close(struct loop *loop);
must_check enum err loop_watch(struct loop *loop, int fd); /* for reading */

/* Sleeps until a descriptor is readable or `wait` has passed (0: only looks). Interrupted counts as woken. */
void loop_wait(struct loop *loop, dur_us wait);
