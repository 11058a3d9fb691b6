#pragma once
#include <stdint.h>
#include <time.h>

/* Time in the load generator: nanoseconds of CLOCK_MONOTONIC. It has its own type, so that it cannot be mixed with the
 * service's microseconds, which are too coarse to measure a loopback request within 1 %. */
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
