/* Service time follows the wall clock slowly. A jump of the wall clock neither makes many things due at once nor forgets any. */
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
