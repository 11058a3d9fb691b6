#pragma once
#include "schemas/clock.h"

/* A shard's service time. It starts at the later of the journal's last `now` and the wall clock, and runs with the host's boot
 * clock. It is corrected towards the wall clock by at most a tenth of the elapsed time and never goes back. An offset
 * (--test-clock) is added. Pure: the host's clocks are arguments. */
struct service_clock {
	int64_t now_us; /* without the offset */
	int64_t boot_us;
	int64_t offset_us;
};

void    service_clock_begin(struct service_clock *clock, wall_us last, wall_us wall, dur_us boot);
wall_us service_clock_now(struct service_clock *clock, wall_us wall, dur_us boot);
