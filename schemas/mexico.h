#pragma once
#include "schemas/clock.h"

#include <stdbool.h>

/* Times in Mexico City: "2026-11-20T14:43:00.123-06:00", milliseconds, rounded down, NUL-terminated, by the system's
 * time zone data. Source: document 4.6.9. Years 0001 to 9999. */
enum { MEXICO_TEXT = 29 + 1 };

/* Sets this zone for the process: once, before other threads start. Local time of the C library then uses it
 * everywhere. false: the system has no data for the zone. */
bool mexico_begin(void);

void mexico_text(wall_us at, char text[MEXICO_TEXT]);
