#pragma once
#include <stddef.h>
#include <stdint.h>

/* How quick the disk was of late: averages over about so many syncs. A record that is large says what a byte takes, for some
 * seconds: a disk that stalled once is not slow for good. */
enum {
	SYNC_RECENT = 8,
	SYNC_LARGE_RECENT = 4,
	SYNC_LARGE_BYTES = 256 << 10, /* the time of smaller ones is not that of their bytes */
	SYNC_LARGE_VALID_US = 10000000,
	SYNC_BYTE_PS_MAX = 500000, /* of a sample: 2 MB/s */
};

struct sync_pace {
	int64_t sync_us;  /* of a sync */
	int64_t byte_ps;  /* picoseconds of a byte; 0: no large record of late */
	int64_t large_us; /* time of the last large record */
};

static inline void sync_pace_add(struct sync_pace *pace, int64_t now_us, int64_t took_us, size_t bytes)
{
	pace->sync_us += (took_us - pace->sync_us) / SYNC_RECENT;
	if (now_us - pace->large_us > SYNC_LARGE_VALID_US) pace->byte_ps = 0;
	if (bytes < SYNC_LARGE_BYTES) return;
	int64_t sample = took_us * 1000000 / (int64_t)bytes;
	if (sample > SYNC_BYTE_PS_MAX) sample = SYNC_BYTE_PS_MAX;
	pace->byte_ps += (sample - pace->byte_ps) / SYNC_LARGE_RECENT;
	pace->large_us = now_us;
}
