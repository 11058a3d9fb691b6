#pragma once
#include "schemas/clock.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether a transfer makes progress: PACE_BYTES in every PACE_MS. */
struct pace {
	mono_us  since; /* start of the current window */
	uint64_t bytes; /* moved at its start */
	mono_us  moved; /* when `last` last changed */
	uint64_t last;
};

/* Starts a new measurement; `bytes`: the count so far. */
void pace_begin(struct pace *pace, mono_us now, uint64_t bytes);

/* Time in which this process was not run does not count. One that has not begun stays so. */
void pace_forgive(struct pace *pace, dur_us away, mono_us now);

/* `bytes` have been moved in all. False: too slow, close the connection. Errors: none. */
bool pace_holds(struct pace *pace, mono_us now, uint64_t bytes);

/* As pace_holds(), for an answer. `pressed`: others wait for its memory or its end, so it may stall for EVICT_AFTER_MS only. */
bool pace_holds_pressed(struct pace *pace, mono_us now, uint64_t bytes, bool pressed);

/* Has it stalled, or been slower than PACE_BYTES in PACE_MS, for more than `after_ms` as of the last check? It may continue while
 * no other connection waits. */
bool pace_is_slow(const struct pace *pace, mono_us now, int64_t after_ms);

/* All answers together hold `held` bytes: is an answer of `bytes` pressed? */
bool pace_presses(uint64_t held, size_t bytes);

/* Bytes that the peer has ever acknowledged on this TCP socket; 0: the kernel does not report it. */
uint64_t pace_acknowledged(int fd);
