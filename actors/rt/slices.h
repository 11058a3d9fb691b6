#pragma once

enum { SHORT_SLICE_NS = 100000 };

/* Short processor slices for the calling thread and those that it makes later; priority and share do not change. The kernel
 * lets a waking thread run in place of one with a longer slice. A balance update passes through six threads, and each could
 * otherwise wait for milliseconds while other processes, or lists, compute. Before Linux 6.12 a thread has no slice of its
 * own, and nothing changes; likewise if the operator chose another policy. Errors: none. */
void short_slices(void);
