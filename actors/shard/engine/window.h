#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How many bytes of answers a session may have that its peer has not received yet: in outboxes, in the readers' queue,
 * in the transport. The transport bounds messages only. What the peer has received it says in each frame.
 *
 * The writer thread owns a window and tells it what was sent and received; readers take room for parts of lists, and
 * wait for it. A session that ends closes its window: readers at work for it find no more room. */

/* Windows that share room. Outlives them. Zeroed, but for `max`, is ready. */
struct windows {
	size_t              max; /* bytes */
	atomic_size_t       held;
	atomic_int_fast64_t full_since; /* as of a window */
	atomic_uint         waiting;    /* readers */
	pthread_mutex_t     mutex;      /* readers take room one at a time */
	pthread_cond_t      room;
};

struct window {
	struct windows *all;
	atomic_uint     users;
	atomic_size_t   held;
	atomic_bool     closed;
	atomic_int_fast64_t
	         full_since; /* mono_us; 0: there was room when last looked, or the peer has received since */
	size_t   granted;
	uint64_t sent, received; /* cumulative; the writer's */
};

/* What an answer is to; each is refused before the next: lists, then other answers without effect, then writes. */
enum window_use { WINDOW_LIST, WINDOW_READ, WINDOW_WRITE };

/* `granted`: the peer's credit. One user. Errors: NULL: out of memory. */
struct window *window_new(struct windows *all, size_t granted);
struct window *window_share(struct window *window); /* one more user */
void           window_leave(struct window **window);
void           window_close(struct window *window);

/* Is there room for an answer of `size` bytes? Of a WRITE the size is not known before: pass ANSWER_RESERVED_BYTES. */
bool window_fits(const struct window *window, enum window_use use, size_t size);

/* The writer: bytes of an answer made; a frame of them handed over; the peer says what it has received in all.
 * false: it cannot have. window_drop(): such bytes are thrown away unsent. */
void window_add(struct window *window, size_t size);
void window_drop(struct window *window, size_t size);
void window_sent(struct window *window, size_t size);
bool window_received(struct window *window, uint64_t received);

/* A reader: adds `size` bytes as soon as they fit. Errors: ERR_OVERLOADED: there has been no room for ANSWERS_STALL_MS,
 * `deadline` has passed, or the window is closed. */
must_check enum err window_wait(struct window *window, size_t size, mono_us deadline);
/* Would window_wait() refuse at once? */
bool window_is_stalled(const struct window *window, size_t size, mono_us now);
