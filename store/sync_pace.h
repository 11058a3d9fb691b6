#pragma once
#include <stddef.h>
#include <stdint.h>

/* How quick the disk was of late: averages over about so many syncs. A record that is large says what a byte takes. */
enum { SYNC_RECENT = 8, SYNC_LARGE_RECENT = 4, SYNC_LARGE_BYTES = 256 << 10 };

struct sync_pace {
	int64_t sync_us; /* of a sync */
	int64_t byte_ps; /* picoseconds of a byte; 0: no large record yet */
};

static inline void sync_pace_add(struct sync_pace *pace, int64_t took_us, size_t bytes)
{
	pace->sync_us += (took_us - pace->sync_us) / SYNC_RECENT;
	if (bytes >= SYNC_LARGE_BYTES)
		pace->byte_ps += (took_us * 1000000 / (int64_t)bytes - pace->byte_ps) / SYNC_LARGE_RECENT;
}
