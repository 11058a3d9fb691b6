#pragma once
#include "schemas/frame.h"

/* A call that outlives its frame: the arguments are packed and unpacked again into memory of their own. Errors: ERR_NO_MEMORY;
 * call saved_call_free() after that, too. */
struct saved_call {
	struct call   call;
	msgpack_zone *zone;
	struct buffer bytes;
};

must_check enum err saved_call_make(struct saved_call *kept, const struct call *call);
void                saved_call_free(struct saved_call *kept);
