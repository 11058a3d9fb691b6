/* The clocks of the host. clock_gettime() cannot fail for these on a supported Linux. */
#include "actors/rt/time.h"
#include "schemas/err.h"

#include <time.h>

static int64_t read_us(clockid_t clock)
{
	struct timespec at;
	must(clock_gettime(clock, &at) == 0);
	return (int64_t)at.tv_sec * US_PER_SEC + at.tv_nsec / 1000;
}

mono_us time_mono(void)
{
	return (mono_us){read_us(CLOCK_MONOTONIC)};
}

dur_us time_thread(void)
{
	return (dur_us){read_us(CLOCK_THREAD_CPUTIME_ID)};
}

dur_us time_boot(void)
{
	return (dur_us){read_us(CLOCK_BOOTTIME)};
}

wall_us time_wall(void)
{
	return (wall_us){read_us(CLOCK_REALTIME)};
}
