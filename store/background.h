#pragma once

/* Threads whose work no response waits for: lists, snapshots, verifications. */

enum { BACKGROUND_NICE = 10, BACKGROUND_SLICE_NS = 100000 };

/* Lowers the calling thread's share of a processor to a tenth of that of the threads that answer, in short slices. A
 * background thread computes for milliseconds. A balance update passes six threads for microseconds each; none of
 * them may wait for the end of a long slice. The lowest priority is too low: a verification of 0.1 s took half a
 * minute beside six busy processes. A slice length of its own needs Linux 6.12; older kernels use the priority. If
 * neither can be set, background work slows the others more. BACKGROUND_NICE is added to the caller's own nice value. */
void background_thread(void);
