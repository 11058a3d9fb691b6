#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

/* Is `bytes` exactly one whole msgpack value, whose counts fit the bytes there are, at most `depth_max`
 * containers deep, with at most `nodes_max` items, without ext types? Runs before the library sees a peer's
 * bytes: it would allocate by the announced count. Errors: ERR_MALFORMED. */
must_check enum err msgpack_check(struct span bytes, unsigned depth_max, size_t nodes_max);
