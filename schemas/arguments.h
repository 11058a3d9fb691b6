#pragma once
#include "schemas/arena.h"
#include "schemas/buffer.h"
#include "schemas/cause.h"
#include "schemas/err.h"
#include "schemas/json.h"
#include "schemas/messages.h"

/* Converts a request to the arguments of its message, by the rows of message_fields() alone. Pure. */
struct arguments_source {
	const struct span *params; /* the path's values in the order of the PATH fields, still encoded */
	struct span        query;  /* without its `?` */
	struct span        body;
	const char        *called; /* the body's name in messages; NULL: "The body" */
	const struct span
	    *defaults; /* by field: strings that replace absent members of the body; NULL: none */
};

/* Memory reused between requests. Zeroed is empty. */
struct arguments_memory {
	struct arena  arena; /* reset by its owner once the arguments are packed */
	struct buffer scratch;
};

/* Does the operation read a body? Then Content-Type: application/json is required. Errors: none. */
bool arguments_have_body(enum message message);

/* Appends the array of arguments to `out`. On an error of the interface `*refusal` describes it; its field lives as
 * long as the arena and the request. Order of checks: the body's form, its unknown keys, the fields in table order.
 * An impossible id in the path is no error: it is packed as the empty id, which no resource has. Errors:
 * ERR_INVALID_REQUEST, ERR_INVALID_INPUT, ERR_PAYLOAD_TOO_LARGE, ERR_NO_MEMORY. */
must_check enum err arguments_pack(enum message message, const struct arguments_source *source,
                                   struct arguments_memory *memory, struct buffer *out,
                                   struct refusal *refusal);
