#pragma once
#include "schemas/clock.h"

#include <time.h>

/* Time that passes whatever happens to the wall clock, for paces and metrics: nothing of what is kept depends on it.
 * Units: microseconds since some moment. Errors: none. */
static inline int64_t monotonic_us(void)
{
	struct timespec now = {0};
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * US_PER_SEC + now.tv_nsec / 1000;
}
