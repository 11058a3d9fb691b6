#pragma once
#include <stdint.h>
#include <time.h>

/* Time in the load generator: nanoseconds of CLOCK_MONOTONIC, a type of its own so that it cannot be mixed
 * with the service's microseconds, in which the latency of one loopback request is too short for a 1 %
 * error. */
typedef struct {
	int64_t v;
} mono_ns;

#define NS_PER_US  INT64_C(1000)
#define NS_PER_MS  INT64_C(1000000)
#define NS_PER_SEC INT64_C(1000000000)

static inline mono_ns mono_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (mono_ns){now.tv_sec * NS_PER_SEC + now.tv_nsec};
}
static inline mono_ns mono_plus(mono_ns at, int64_t wait_ns)
{
	return (mono_ns){at.v + wait_ns};
}
