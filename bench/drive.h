#pragma once
#include <stdbool.h>

#include "bench/clock.h"
#include "bench/options.h"
#include "bench/tally.h"

/* The result of a run. `warmup` has the requests due before the measured time, the n-th window those due in the n-th --windows
 * of it. Units: s. The caller of drive() frees `windows`. */
struct drive_result {
	struct tally  warmup;
	struct tally  measured;
	struct tally *windows; /* also counted in measured; NULL: not requested */
	uint32_t      window_count;
	double        measured_s;      /* from the end of warm-up to the end or, if later, the last answer */
	double        goodput_per_s;   /* successes between the end of warm-up and the end, whenever due */
	double        active_s;        /* the whole run, with warm-up and the wait for the last answers */
	uint64_t      reconnect_count; /* connections reopened after the first time */
	bool          gave_up;         /* stopped early: no answer for long, or a queue long after the end */
};

/* Runs the load of `options`. False: it could not begin (address, connections, memory, a request too long), with a line on
 * stderr. A server that fails later is counted, not reported here. */
bool drive(const struct options *options, struct drive_result *result);
