#pragma once
#include "actors/rt/channel.h"

/* Traffic between processes, for finding faults. With STAMPEDE_TRACE=frames in the environment each process of a service logs
 * every frame that it sends or receives, so that both ends can be compared:
 *   event=frame direction=sent kind=calls count=3 bytes=412 peer=shard-0
 * `count`: calls or replies in the frame. A peer that has not sent HELLO is shown by the transport's name. Nothing else of a
 * frame is shown. Errors: none. */
void trace_open(void); /* reads the environment: once, before other threads are started */

extern bool trace_frames; /* checked before every call below, so that it costs nothing when off */

enum trace_direction { TRACE_SENT, TRACE_RECEIVED };
/* `callee`: the callee of a connected channel; NULL: a bound one, whose peer is `peer`. */
void trace_frame(enum trace_direction direction, const char *callee, const struct peer *peer,
                 struct span bytes);
