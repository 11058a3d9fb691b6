#pragma once

enum { SHORT_SLICE_NS = 100000 };

/* Short slices of a processor for the calling thread, and for those that it makes from then on; priority and share stay as they
 * are. The kernel lets a waking thread run in place of one whose slice is longer. A delta passes through six threads: without
 * this each may wait for milliseconds while other processes, or lists, compute.
 * Before Linux 6.12 a thread has no slice of its own, and nothing changes; likewise where the operator has chosen another
 * policy. Errors: none. */
void short_slices(void);
