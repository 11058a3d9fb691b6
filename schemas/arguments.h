#pragma once
#include "schemas/arena.h"
#include "schemas/buffer.h"
#include "schemas/cause.h"
#include "schemas/err.h"
#include "schemas/json.h"
#include "schemas/messages.h"

/* From a request to the arguments of its message, by the rows of message_fields() alone. Pure. */
struct arguments_source {
	const struct span *params; /* the path's values in the order of the PATH fields, still encoded */
	struct span        query;  /* without its `?` */
	struct span        body;
	const char        *called; /* what holds the body, to people; NULL: "The body" */
	const struct span
	    *defaults; /* by field: strings that stand for absent members of the body; NULL: none */
};

/* Memory that is reused from one request to the next. Zeroed is empty. */
struct arguments_memory {
	struct arena  arena; /* reset by whoever owns it, once the request's arguments are packed */
	struct buffer scratch;
};

/* Does the operation read a body? Then one needs Content-Type: application/json. Errors: none. */
bool arguments_have_body(enum message message);

/* Appends the array of arguments to `out`. On an error `*refusal` tells what is wrong, of the interface's errors at least;
 * its field lives as long as the arena and the request. Order: the body's form, its unknown keys, the fields in
 * table order. An impossible id in the path is no fault: it is packed as the empty one, which no resource has. Errors:
 * ERR_INVALID_REQUEST, ERR_INVALID_INPUT, ERR_PAYLOAD_TOO_LARGE, ERR_NO_MEMORY. */
must_check enum err arguments_pack(enum message message, const struct arguments_source *source,
                                   struct arguments_memory *memory, struct buffer *out,
                                   struct refusal *refusal);
