#pragma once
#include "schemas/err.h"
#include "schemas/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* What a host must provide; with less a start is refused. Units: bytes; files; descriptors. */
#define SHARD_SEGMENT_BYTES (UINT64_C(16) << 20)
#define SHARD_MAP_BYTES     (UINT64_C(1) << 40)

/* On disk, for a new shard: its current and next segment, and what is reserved ahead for its tables. Beyond that, as much must
 * be free as writes need. actors/shard/shard.c compares these with the store's own constants. */
#define NEEDS_SHARD_BYTES (2 * SHARD_SEGMENT_BYTES + (UINT64_C(64) << 20))
#define NEEDS_FLOOR_BYTES (UINT64_C(96) << 20)

/* Files and directories: of a shard with its snapshots, and of everything else in a data directory. */
#define NEEDS_SHARD_FILES 32u
#define NEEDS_FLOOR_FILES 16u

/* Address space of a process: a shard's tables, those of a snapshot being made, and everything else. */
#define NEEDS_ADDRESSES (2 * SHARD_MAP_BYTES + (UINT64_C(4) << 30))

/* Private memory of a process, the largest of these. A shard, besides what depends on --memory: 168 MiB of responses
 * and of the buffers in which they are made; 128 of parsed accounts; 148 of history, idempotency keys and signatures; 8 for
 * each of ten threads; the process itself. http with answers and bodies at their bounds: each byte of a body may be there three
 * times, as it came, as text of its values, and as part of a message. A thread of http has its stack, and the values of one
 * body. */
#define NEEDS_SHARD_DATA_BYTES  (UINT64_C(576) << 20)
#define NEEDS_HTTP_DATA_BYTES   ((UINT64_C(64) << 20) + UINT64_C(3) * BODIES_BYTES_MAX + ANSWERS_BYTES_MAX)
#define NEEDS_THREAD_DATA_BYTES (UINT64_C(56) << 20)

/* What lists may keep in a shard with that --memory: half of it. Ten million passes need some 370 MB, and 770 MB of --memory. */
static inline uint64_t needs_lists(uint64_t memory_bytes)
{
	const uint64_t least = UINT64_C(64) << 20, most = UINT64_C(384) << 20, half = memory_bytes / 2;

	return half < least ? least : half > most ? most : half;
}

/* One file: a shard's tables with what is reserved ahead for them and what must be free beyond that. */
#define NEEDS_FILE_BYTES (UINT64_C(192) << 20)

/* Processes and threads of the user at once: of a shard, and of everything else but the threads of http. */
#define NEEDS_SHARD_TASKS 12u
#define NEEDS_FLOOR_TASKS 16u

/* Open files of a process: of each session between a thread of http and a shard, and of everything else but connections. These get
 * the rest, but at least half of what the sessions leave. */
#define NEEDS_DESCRIPTORS            DESCRIPTORS_RESERVED
#define NEEDS_SESSION_DESCRIPTORS    6u
/* Of the supervisor, besides what its parent left it, and of each of its children there. */
#define NEEDS_SUPERVISOR_DESCRIPTORS 96u
#define NEEDS_CHILD_DESCRIPTORS      2u

/* Stack of a thread. */
#define NEEDS_STACK_BYTES (256 << 10)
/* Raises a lower limit, for threads of this process that are still to be started, and for its children. False: it may not be
 * raised so far; *allowed has how far. */
must_check bool needs_stack(uint64_t *allowed);

/* Starts that many threads at once, and ends them. Returns how many there were, and in *error why no more; 0: all. */
uint32_t needs_threads(uint32_t wanted, int *error);

/* Loads libcurl, which processes that check or call URLs need. Errors (logged): ERR_UNSUPPORTED. */
must_check enum err needs_libcurl(void);
