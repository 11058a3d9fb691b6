#pragma once
#include "schemas/clock.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether something that moves bytes goes on moving them: PACE_BYTES in every PACE_MS. */
struct pace {
	mono_us  since; /* of the window at hand */
	uint64_t bytes; /* moved when it began */
	mono_us  moved; /* when `last` was last seen to change */
	uint64_t last;
};

/* Begins anew, `bytes` being the count so far. */
void pace_begin(struct pace *pace, mono_us now, uint64_t bytes);

/* `bytes` have been moved in all. false: too slow, the connection is to be closed. Errors: none. */
bool pace_holds(struct pace *pace, mono_us now, uint64_t bytes);

/* As pace_holds(), for an answer. `pressed`: somebody waits for it to end, so that it may stand still for EVICT_AFTER_MS
 * only. */
bool pace_holds_pressed(struct pace *pace, mono_us now, uint64_t bytes, bool pressed);

/* Has it, as of the last look, stood still for EVICT_AFTER_MS, or gone slower than PACE_BYTES in PACE_MS for as long? Such
 * a one still holds: nobody waits for it. */
bool pace_is_slow(const struct pace *pace, mono_us now);

/* All answers together hold `held` bytes: is that so many that one of `bytes` is pressed? */
bool pace_presses(uint64_t held, size_t bytes);

/* How many bytes the peer has acknowledged on this TCP socket, ever; 0 when the kernel does not say. */
uint64_t pace_acknowledged(int fd);
