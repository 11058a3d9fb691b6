#pragma once
#include "schemas/clock.h"

#include <stdbool.h>

/* Times as a clock in Mexico City shows them: "2026-11-20T14:43:00.123-06:00", milliseconds, rounded down, NUL-terminated,
 * by the system's time zone data. Source: document 4.6.9. Years 0001 to 9999. */
enum { MEXICO_TEXT = 29 + 1 };

/* Makes it the zone of this process: once, before another thread is there. Whoever else asks the C library for local time
 * has this one. false: the system has no data for the zone. */
bool mexico_begin(void);

void mexico_text(wall_us at, char text[MEXICO_TEXT]);
