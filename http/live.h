#pragma once
#include "actors/rpc/child.h"
#include "http/thread.h"

/* What of the process may change while its threads serve: see struct live. For the main thread.
 * live_begin(), before the threads start: by the settings at the start. Errors (logged): ERR_BAD_OPTION, ERR_PEER_GONE,
 * ERR_NO_MEMORY. */
must_check enum err live_begin(struct service *service, struct child *child);

/* Once a turn: publishes what has come, and when every thread goes by it, frees the one before and tells the supervisor.
 * *before is that one; it is the caller's to keep, NULL at first. */
void live_turn(struct service *service, struct child *child, struct live **before);

/* Behind the threads. */
void live_end(struct service *service, struct live **before);
