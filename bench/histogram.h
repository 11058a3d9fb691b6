#pragma once
#include <stdint.h>

/* How often each value was seen, with 128 steps for every doubling: a value read back differs from the added one by at most 1
 * in 256 (0.4 %), whatever its size. Units: the caller's (here ns). Errors: none; a value of 2^40 (18 min in ns) or more
 * counts as the last step. */
enum {
	HISTOGRAM_STEP_BITS = 7,
	HISTOGRAM_STEPS = 1 << HISTOGRAM_STEP_BITS,
	HISTOGRAM_VALUE_BITS = 40,
	HISTOGRAM_SLOTS = (HISTOGRAM_VALUE_BITS - HISTOGRAM_STEP_BITS + 1) * HISTOGRAM_STEPS,
};

struct histogram {
	uint64_t count;
	uint64_t max; /* exact, also beyond the last step */
	uint64_t seen[HISTOGRAM_SLOTS];
};

void histogram_clear(struct histogram *histogram);
void histogram_add(struct histogram *histogram, uint64_t value);

/* The smallest recorded value that at least `share_ppm` of all values do not exceed. Units: parts per million (999000 =
 * p99.9), 1 to 1000000. Errors: none; 0: nothing was recorded. */
uint64_t histogram_quantile(const struct histogram *histogram, uint32_t share_ppm);
