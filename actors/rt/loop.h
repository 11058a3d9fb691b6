#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"

#include <stdbool.h>

/* Waiting for a handful of descriptors (epoll, level-triggered). The process' own work is done by its turn
 * function between waits; nothing is called back. Errors: ERR_IO, ERR_NO_MEMORY. */
enum { LOOP_READY_MAX = 8 };
struct loop {
	int epoll_fd;
	int ready_count; /* of the last wait; when it is LOOP_READY_MAX there may be more */
	int ready[LOOP_READY_MAX];
};

must_check enum err loop_open(struct loop *loop);
void                loop_close(struct loop *loop);
must_check enum err loop_watch(struct loop *loop, int fd); /* for reading */

/* Sleeps until a descriptor is readable or `wait` has passed (0: only looks). Interrupted counts as woken. */
void loop_wait(struct loop *loop, dur_us wait);

/* Did the last wait find `fd` readable? true also where that is not known. A look at all that there is costs a system
 * call for each: this is for what is not looked at unless it has something to say. */
bool loop_is_ready(const struct loop *loop, int fd);
