#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

/* Checks that `bytes` is exactly one whole msgpack value with plausible counts, at most `depth_max` containers deep,
 * with at most `nodes_max` items, without ext types. Runs on a peer's bytes before the library, which would allocate
 * by the announced count. Errors: ERR_MALFORMED. */
must_check enum err msgpack_check(struct span bytes, unsigned depth_max, size_t nodes_max);
