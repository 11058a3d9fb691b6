#pragma once
#include "schemas/clock.h"

#include <stdbool.h>

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

/* How many bytes the peer has acknowledged on this TCP socket, ever; 0 when the kernel does not say. */
uint64_t pace_acknowledged(int fd);
