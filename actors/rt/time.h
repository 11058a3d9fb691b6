#pragma once
#include "schemas/clock.h"

/* The host's clocks, read once per turn of a loop and passed on as arguments. Errors: none. */
mono_us time_mono(void);
dur_us  time_boot(void);   /* CLOCK_BOOTTIME since boot: continues while suspended */
dur_us  time_thread(void); /* processor time of the calling thread */
wall_us time_wall(void);   /* the host's wall clock; service time is a shard's service_clock */
