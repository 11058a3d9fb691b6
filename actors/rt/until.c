/* Ends of waits by the clock that no step of the wall clock moves. */
#include "actors/rt/until.h"
#include "schemas/err.h"

struct timespec until_ms(unsigned ms)
{
	struct timespec at;
	must(clock_gettime(CLOCK_MONOTONIC, &at) == 0);
	at.tv_nsec += ms % 1000 * 1000000L;
	at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000L;
	at.tv_nsec %= 1000000000L;
	return at;
}
