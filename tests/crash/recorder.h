#pragma once
#include "schemas/clock.h"
#include "tests/crash/trace.h"

/* Stands between a program and the C library's calls on files. Linked into a program it is off until begun; as a
 * preloaded library it begins by itself: STAMPEDE_RECORD_DIR names the directory, STAMPEDE_RECORD_TRACE the file.
 * It also lies, where a test must move a directory in time or place. Errors: none; what it cannot do ends the process. */

/* Records what happens below `dir`, made already or not yet, from here on in this process and those it forks; appends to
 * `trace`. Both are absolute. What is in `dir` already, whoever reads the trace must know. */
void recorder_begin(const char *dir, const char *trace);

/* The process ends, as if killed, behind the `entries`th entry from here on that is one of `ops` (1 << TRACE_... each). */
void recorder_die_after(unsigned entries, unsigned ops);

/* Holds every deed of other threads back for good: the process is about to end while they are at work. */
void recorder_end(void);

/* Every sync takes so long from here on: other threads get further meanwhile. */
void recorder_slow_syncs(dur_us each);

void recorder_mark(enum trace_mark mark, uint64_t length, uint64_t other);
void recorder_mark_restored(uint64_t seq, uint32_t chain, struct span operations);

/* From now on the host is in its `boot`th boot; 0: the true one. */
void recorder_boot(unsigned boot);

/* A file that was copied elsewhere says it is still the one it was. */
struct file_id {
	uint64_t device, inode;
};
void recorder_forget_aliases(void);
void recorder_alias(struct file_id is, struct file_id was);
