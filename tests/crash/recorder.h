#pragma once
#include "schemas/clock.h"
#include "tests/crash/trace.h"

/* Intercepts a program's calls of the C library on files. Linked into a program it is off until it is
 * started; preloaded it starts by itself: STAMPEDE_RECORD_DIR names the directory, STAMPEDE_RECORD_TRACE the
 * file. It can also report another boot and other inodes, for tests that move a directory in time or place.
 * Errors: none; failures end the process. */

/* Records the changes below `dir`, which need not exist, from now on in this process and its children;
 * appends to `trace`. Both are absolute paths. The reader of the trace must know what `dir` contained
 * before. */
void recorder_begin(const char *dir, const char *trace);

/* The process ends as if killed, after the `entries`th entry from now on that is one of `ops` (1 << TRACE_...
 * each). */
void recorder_die_after(unsigned entries, unsigned ops);

/* Blocks every action of other threads from now on: the process is about to end while they are working. */
void recorder_end(void);

/* Every sync takes this long from now on, so that other threads get further meanwhile. */
void recorder_slow_syncs(dur_us each);

/* Syncs are recorded but not made from now on, here and in children: the states of a disk are built in memory,
 * and nothing waits for the real one. */
void recorder_spare_disk(void);

void recorder_mark(enum trace_mark mark, uint64_t length, uint64_t other);
void recorder_mark_restored(uint64_t seq, uint32_t chain, struct span operations);

/* From now on the host is in its `boot`th boot; 0: the true one. */
void recorder_boot(unsigned boot);

/* A file that was copied elsewhere reports the inode of the original. */
struct file_id {
	uint64_t device, inode;
};
void recorder_forget_aliases(void);
void recorder_alias(struct file_id is, struct file_id was);
