/* The schedule of a run. The queue of an open loop needs no memory: requests are meant for start + n / rate,
 * so the count of those handed out says which is next and since when it waits. */
#include "bench/pace.h"
#include "schemas/err.h"

#include <math.h>

mono_ns pace_next(const struct pace *pace, mono_ns now)
{
	if (pace->rate_per_s == 0) return now;
	return mono_plus(pace->start, (int64_t)(pace->taken * (uint64_t)NS_PER_SEC / pace->rate_per_s));
}

bool pace_is_over(const struct pace *pace, mono_ns now)
{
	return pace->taken >= pace->count_max || pace_next(pace, now).v >= pace->end.v;
}

bool pace_is_due(const struct pace *pace, mono_ns now)
{
	return !pace_is_over(pace, now) && pace_next(pace, now).v <= now.v;
}

mono_ns pace_take(struct pace *pace, mono_ns now)
{
	mono_ns meant_at = pace_next(pace, now);

	must(pace_is_due(pace, now));
	pace->taken++;
	return meant_at;
}

uint64_t pace_untaken(const struct pace *pace)
{
	uint64_t count = pace->count_max;

	if (pace->rate_per_s && pace->end.v < INT64_MAX) {
		double   length_s = (double)(pace->end.v - pace->start.v) / (double)NS_PER_SEC;
		uint64_t by_time = (uint64_t)ceil(length_s * (double)pace->rate_per_s);

		if (by_time < count) count = by_time;
	}
	return count == UINT64_MAX || count < pace->taken ? 0 : count - pace->taken;
}
