/* The schedule of a run. The queue of an open loop needs no memory: requests are due at start + n / rate, so the number of
 * those taken shows which is next and how long it has waited. */
#include "bench/pace.h"
#include "schemas/err.h"

#include <math.h>

static mono_ns after(mono_ns start, uint64_t count, uint64_t rate_per_s)
{
	return mono_plus(start, (int64_t)(count * (uint64_t)NS_PER_SEC / rate_per_s));
}

static uint64_t count_between(mono_ns from, mono_ns to, uint64_t rate_per_s)
{
	return (uint64_t)ceil((double)(to.v - from.v) / (double)NS_PER_SEC * (double)rate_per_s);
}

void pace_begin_at(struct pace *pace, uint64_t first_rate_per_s)
{
	must(pace->rate_per_s && first_rate_per_s && pace->turn.v >= pace->start.v);
	pace->first_rate_per_s = first_rate_per_s;
	pace->first_count = count_between(pace->start, pace->turn, first_rate_per_s);
}

mono_ns pace_next(const struct pace *pace, mono_ns now)
{
	if (pace->rate_per_s == 0) return now;
	if (pace->taken < pace->first_count) return after(pace->start, pace->taken, pace->first_rate_per_s);
	return after(pace->turn, pace->taken - pace->first_count, pace->rate_per_s);
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
		uint64_t by_time = pace->first_count + count_between(pace->turn, pace->end, pace->rate_per_s);

		if (by_time < count) count = by_time;
	}
	return count == UINT64_MAX || count < pace->taken ? 0 : count - pace->taken;
}
