#pragma once
#include <stdint.h>

/* The least that a host must give: with less a start is refused. Units: bytes; descriptors. */
#define SHARD_SEGMENT_BYTES (UINT64_C(16) << 20)
#define SHARD_MAP_BYTES     (UINT64_C(1) << 40)

/* On the disk, for a new shard: the segment that it writes to and the next, and what is reserved ahead of its tables. With
 * that taken, as much must be left as writes are accepted with. actors/shard/shard.c holds these against the store's own. */
#define NEEDS_SHARD_BYTES (2 * SHARD_SEGMENT_BYTES + (UINT64_C(64) << 20))
#define NEEDS_FLOOR_BYTES (UINT64_C(96) << 20)

/* Of address space, in a process: a shard's tables, those of a snapshot that it makes meanwhile, and everything else. */
#define NEEDS_ADDRESSES (2 * SHARD_MAP_BYTES + (UINT64_C(4) << 30))

/* Of files that may be open, in a process: what everything but connections may take; where there is no more, connections get half of it. */
#define NEEDS_DESCRIPTORS DESCRIPTORS_RESERVED
