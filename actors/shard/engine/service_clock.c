/* Service time. A wall clock that jumps moves it slowly, one that is right keeps it right, and no jump makes it
 * flood or forget what is due. */
#include "actors/shard/engine/service_clock.h"

enum { SLEW_DIVISOR = 10 };

void service_clock_begin(struct service_clock *clock, wall_us last, wall_us wall, dur_us boot)
{
	clock->now_us = (last.v > wall.v ? last.v : wall.v) - clock->offset_us;
	if (clock->now_us < wall.v) clock->now_us = wall.v;
	clock->boot_us = boot.v;
}

wall_us service_clock_now(struct service_clock *clock, wall_us wall, dur_us boot)
{
	int64_t passed = boot.v > clock->boot_us ? boot.v - clock->boot_us : 0;
	int64_t slew = wall.v - (clock->now_us + passed), bound = passed / SLEW_DIVISOR;
	if (slew > bound) slew = bound;
	if (slew < -bound) slew = -bound;
	clock->now_us += passed + slew;
	clock->boot_us = boot.v;
	return (wall_us){clock->now_us + clock->offset_us};
}
