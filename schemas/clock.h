#pragma once
#include <stdint.h>

/* Clocks are types, so that mixing them does not compile. All count microseconds.
 * wall_us: service time since 1970 UTC, the time that all users see (snapshots and backups carry the host's clock).
 * mono_us: this host's CLOCK_MONOTONIC, never stored; it may travel between processes of one host as a deadline.
 * dur_us: a length of time. */
typedef struct {
	int64_t v;
} wall_us;
typedef struct {
	int64_t v;
} mono_us;
typedef struct {
	int64_t v;
} dur_us;

#define US_PER_MS  INT64_C(1000)
#define US_PER_SEC INT64_C(1000000)
#define US_PER_DAY (86400 * US_PER_SEC)

static inline mono_us mono_after(mono_us at, dur_us wait)
{
	return (mono_us){at.v + wait.v};
}
static inline mono_us mono_sooner(mono_us a, mono_us b)
{
	return a.v < b.v ? a : b;
}
static inline dur_us mono_since(mono_us now, mono_us then)
{
	return (dur_us){now.v - then.v};
}
