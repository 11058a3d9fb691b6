#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

/* Looks over the raw head of a request, `input` being the connection's bytes from the head on (a body may
 * follow). Refuses every shape that two parsers could read differently, and whatever exceeds our limits.
 * Errors: ERR_INVALID_REQUEST, ERR_URI_TOO_LONG, ERR_HEAD_TOO_LARGE; the connection must then be closed. */
must_check enum err guard_head(struct span input);
