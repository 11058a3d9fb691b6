#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "bench/clock.h"

/* When requests are meant to be sent. Closed: whenever a connection is free. Open: at even distances,
 * whatever the answers do; what is due and finds no free connection waits, and its latency counts from when
 * it was due. An open loop may begin at another rate, up to an instant from which the main one is counted.
 * Units: requests, requests per second, ns. Errors: none. */
struct pace {
	uint64_t rate_per_s;       /* 0: closed loop */
	uint64_t first_rate_per_s; /* of the first `first_count` requests */
	uint64_t first_count;
	uint64_t count_max; /* requests in all */
	mono_ns  start;
	mono_ns  turn;  /* what the rate is counted from: the start, if there is no first rate */
	mono_ns  end;   /* nothing is meant for this instant or later */
	uint64_t taken; /* requests handed out */
};

/* From `start` to `turn` at the first rate. */
void pace_begin_at(struct pace *pace, uint64_t first_rate_per_s);

/* True when every request was handed out (open), or none may be any more (closed). */
bool pace_is_over(const struct pace *pace, mono_ns now);

/* True when a request may be taken; pace_take takes it and says for when it was meant. */
bool    pace_is_due(const struct pace *pace, mono_ns now);
mono_ns pace_take(struct pace *pace, mono_ns now);

/* When the next request is due; for a closed loop that is now. Meaningless once the pace is over. */
mono_ns pace_next(const struct pace *pace, mono_ns now);

/* How many requests were meant but not handed out: those of an open loop or of a fixed number. */
uint64_t pace_untaken(const struct pace *pace);
