#pragma once
#include "schemas/clock.h"
#include "schemas/span.h"

enum { RFC3339_TEXT = 24 + 1, SPACED_DATE_TEXT = 36 + 1 };

/* "2026-11-20T20:43:00.123Z": milliseconds, rounded down, UTC, NUL-terminated. Years 0001 to 9999. */
void rfc3339_text(wall_us at, char text[RFC3339_TEXT]);

/* "2026-11-20 20:43:00.123456 +0000 UTC", likewise, with microseconds: the form of some lists. */
void spaced_date_text(wall_us at, char text[SPACED_DATE_TEXT]);

/* What a time must be, in messages. */
#define WANTED_TIME "an RFC 3339 date-time such as 2026-11-26T10:00:00Z"

/* Reads RFC 3339 with any offset, 0 to 9 fraction digits (cut to microseconds), T or t, Z or z. false: malformed, or
 * not a real day. A second of 60 may end a month in UTC: it is read as the second after it. */
bool rfc3339_read(struct span text, wall_us *at);
/* The same for a day alone, "2026-11-26": its midnight in UTC. */
bool rfc3339_day_read(struct span text, wall_us *at);
/* What a text that is no time must be, in messages: WANTED_TIME, or what is wrong of it. */
const char *rfc3339_wanted(struct span text);

#define DURATION_MOST "36525d" /* 100 years; the greatest duration */
/* A duration in the operator's notation: a whole number and s, m, h or d ("90s", "5m", "2h", "1d"), or 0; at most
 * DURATION_MOST. false otherwise. */
bool duration_read(struct span text, dur_us *duration);
