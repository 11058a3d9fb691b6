#pragma once
#include "actors/rt/channel.h"

/* Traffic between processes, for whoever looks for a fault: with STAMPEDE_TRACE=frames in the environment each process of
 * a service logs every frame that it sends or receives, so that both ends of each can be held against each other:
 *   event=frame direction=sent kind=calls count=3 bytes=412 peer=shard-0
 * `count` is of the frame's calls or replies. A peer that has not said HELLO yet is told by the transport's name for it.
 * Nothing else of a frame is shown. Errors: none. */
void trace_open(void); /* reads the environment: once, before other threads are started */

extern bool trace_frames; /* asked before every call below, so that it costs nothing when off */

enum trace_direction { TRACE_SENT, TRACE_RECEIVED };
/* `callee`: whom a connected channel speaks with; NULL: a bound one's, of whose peers it is `peer`. */
void trace_frame(enum trace_direction direction, const char *callee, const struct peer *peer,
                 struct span bytes);
