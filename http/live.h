#pragma once
#include "actors/rpc/child.h"
#include "http/thread.h"

/* What may change while threads serve: see struct live. For the main thread. live_begin(), before the threads start, publishes
 * the first settings. Errors (logged): ERR_BAD_OPTION, ERR_PEER_GONE, ERR_NO_MEMORY. */
must_check enum err live_begin(struct service *service, struct child *child);

/* Once a turn: publishes new settings. When every thread uses them, frees the previous ones (*before, kept by the caller, NULL
 * at first) and notifies the supervisor. */
void live_turn(struct service *service, struct child *child, struct live **before);

/* Call after the threads have ended. */
void live_end(struct service *service, struct live **before);
