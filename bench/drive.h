#pragma once
#include <stdbool.h>

#include "bench/clock.h"
#include "bench/options.h"
#include "bench/tally.h"

/* What a run yields. `warmup` has the requests meant before measured_s began, the n-th window those meant in the n-th
 * --windows of it. Units: s. Whoever runs drive frees `windows`. */
struct drive_result {
	struct tally  warmup;
	struct tally  measured;
	struct tally *windows; /* also counted in measured; NULL: not asked for */
	uint32_t      window_count;
	double        measured_s; /* from the end of warm-up to the end or, if later, the last answer */
	double   goodput_per_s;   /* successes that came from the end of warm-up to the end, whenever meant */
	double   active_s;        /* the whole run, with warm-up and the wait for the last answers */
	uint64_t reconnect_count; /* connections opened again after the first time */
	bool     gave_up;         /* stopped early: no answer for long, or a queue long after the end */
};

/* Runs the load that `options` describe. False when it could not begin (address, connections, memory, a
 * request too long); a line was printed to stderr then. A server that fails later is counted, not reported
 * here. */
bool drive(const struct options *options, struct drive_result *result);
