#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Limits the bytes of answers that a session's peer has not received yet: in outboxes, in the readers' queue, in the
 * transport. The transport itself limits only the number of messages. A peer reports what it has received in each frame.
 *
 * The writer thread owns a window and counts what was sent and received. Readers reserve room for parts of lists and wait for
 * it. A session that ends closes its window; its readers then find no room. */

/* Windows that share room. It outlives them. Ready when zeroed, except for `max`. */
struct windows {
	size_t              max; /* bytes */
	atomic_size_t       held;
	atomic_int_fast64_t full_since; /* as in struct window */
	atomic_uint         waiting;    /* readers */
	pthread_mutex_t     mutex;      /* readers reserve room one at a time */
	pthread_cond_t      room;
};

enum { WINDOW_MARKS = 32 };
struct window {
	struct windows *all;
	atomic_uint     users;
	atomic_size_t   held;
	atomic_bool     closed;
	/* mono_us; 0: there was room at the last check, or the peer has received since. */
	atomic_int_fast64_t full_since;
	size_t              granted;
	uint64_t            sent, received; /* cumulative bytes; the writer's */

	/* Of `held`, those of lists. A mark is the end of a list's frame among the bytes sent; when all are in use, the last one
	 * stands for several frames. */
	atomic_size_t lists;
	struct {
		uint64_t end;
		size_t   size;
	} marks[WINDOW_MARKS]; /* a ring; the writer's */
	unsigned mark_first, mark_count;
};

/* What an answer is for. When room runs out, lists are refused first, then other reads, then writes. */
enum window_use { WINDOW_LIST, WINDOW_READ, WINDOW_WRITE };

/* `granted`: the peer's credit. Starts with one user. NULL: out of memory. */
struct window *window_new(struct windows *all, size_t granted);
struct window *window_share(struct window *window); /* one more user */
void           window_leave(struct window **window);
void           window_close(struct window *window);

/* Is there room for an answer of `size` bytes? The size of an answer to a WRITE is not known before: pass
 * ANSWER_RESERVED_BYTES. */
bool window_fits(const struct window *window, enum window_use use, size_t size);

/* For the writer: an answer was made; a frame was sent, of its own answers or of a list's; the peer reports its total received.
 * False: more than was sent. */
void window_add(struct window *window, size_t size);
void window_sent(struct window *window, size_t size);
void window_sent_list(struct window *window, size_t size);
bool window_received(struct window *window, uint64_t received);

/* For a reader: adds `size` bytes as soon as they fit. Errors: ERR_OVERLOADED: no room for ANSWERS_STALL_MS, or for
 * LISTS_STALL_MS if only lists are too many, `deadline` has passed, or the window is closed. */
must_check enum err window_wait(struct window *window, size_t size, mono_us deadline);
/* Adds them without waiting. */
void window_add_list(struct window *window, size_t size);
/* Bytes that either of these added will not be sent. Any thread. */
void window_drop_list(struct window *window, size_t size);
/* Would window_wait() fail at once? */
bool window_is_stalled(const struct window *window, size_t size, mono_us now);
