#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "bench/clock.h"

/* When requests are due. Closed: whenever a connection is free. Open: at equal distances, whatever the answers do. A due
 * request without a free connection waits, and its latency counts from when it was due. An open loop may begin at another
 * rate, until the time from which the main rate counts. Units: requests, requests per second, ns. Errors: none. */
struct pace {
	uint64_t rate_per_s;       /* 0: closed loop */
	uint64_t first_rate_per_s; /* of the first `first_count` requests */
	uint64_t first_count;
	uint64_t count_max; /* requests in all */
	mono_ns  start;
	mono_ns  turn;  /* where the main rate begins: the start, if there is no first rate */
	mono_ns  end;   /* no request is due at this time or later */
	uint64_t taken; /* requests handed out */
};

/* From `start` to `turn` at the first rate. */
void pace_begin_at(struct pace *pace, uint64_t first_rate_per_s);

/* True: every request was handed out (open), or no more may be (closed). */
bool pace_is_over(const struct pace *pace, mono_ns now);

/* pace_is_due(): may a request be taken? pace_take() takes it and returns when it was due. */
bool    pace_is_due(const struct pace *pace, mono_ns now);
mono_ns pace_take(struct pace *pace, mono_ns now);

/* When the next request is due; for a closed loop: now. Undefined once the pace is over. */
mono_ns pace_next(const struct pace *pace, mono_ns now);

/* How many requests were due but not handed out, in an open loop or with a fixed number. */
uint64_t pace_untaken(const struct pace *pace);
