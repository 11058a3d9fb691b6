#pragma once
#include "schemas/clock.h"

#include <time.h>

/* Monotonic time, for pacing and metrics; stored data never depends on it. Units: microseconds since an arbitrary
 * moment. Errors: none. */
static inline int64_t monotonic_us(void)
{
	struct timespec now = {0};
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * US_PER_SEC + now.tv_nsec / 1000;
}
