#pragma once

/* A thread whose work nobody's answer waits for: lists, snapshots, verifications. */

enum { BACKGROUND_NICE = 10, BACKGROUND_SLICE_NS = 100000 };

/* Puts the calling thread, and no other, behind all that answer: a tenth of their share of a processor, in short slices.
 * It computes for milliseconds, and whoever answers a delta for microseconds, six threads one after the other: none of
 * them is to wait until a long slice has ended. A tenth, and not the least there is, because operators and callers do wait
 * in the end: at the lowest priority a verification of 0.1 s took half a minute beside six busy processes.
 * (Slices of one's own are Linux 6.12's; before, the priority does it. Where neither can be set, it costs others more.) */
void background_thread(void);
