#pragma once
#include "schemas/clock.h"

/* A shard's service time: begins at the later of the journal's last `now` and the wall, runs with the host's
 * boot clock, is drawn towards the wall by at most a tenth of the time that passes, and never goes back.
 * With an offset (--test-clock) it runs that much ahead. Pure: the host's clocks are arguments. */
struct service_clock {
	int64_t now_us; /* without the offset */
	int64_t boot_us;
	int64_t offset_us;
};

void    service_clock_begin(struct service_clock *clock, wall_us last, wall_us wall, dur_us boot);
wall_us service_clock_now(struct service_clock *clock, wall_us wall, dur_us boot);
