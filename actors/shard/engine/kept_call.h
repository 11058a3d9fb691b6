#pragma once
#include "schemas/frame.h"

/* A call that outlives the frame it came in: its arguments packed and unpacked again into memory of its own.
 * Errors: ERR_NO_MEMORY; kept_call_free() is right after that too. */
struct kept_call {
	struct call   call;
	msgpack_zone *zone;
	struct buffer bytes;
};

must_check enum err kept_call_make(struct kept_call *kept, const struct call *call);
void                kept_call_free(struct kept_call *kept);
