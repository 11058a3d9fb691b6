#pragma once
#include "schemas/limits.h"
#include "schemas/messages.h"

/* The arguments of messages: name, source in an HTTP request, JSON type, and range. api/NOUN.def lists those of each
 * noun's operations; api/NOUN.h has their positions, so that a changed argument recompiles the files of its noun alone.
 *   source  PATH | QUERY | BODY | SELF (set by the sender itself: the CLI, another process)
 *   type    STRING   msgpack str; range in bytes (0 = no limit here; the handler has finer rules)
 *           INTEGER  msgpack int; inclusive range
 *           BOOLEAN  msgpack bool; in a query also 1, 0, t, f
 *           OBJECT   msgpack map of key -> str (a string) | bin (any other value, as its JSON text) | nil
 *           NULLABLE an OBJECT for which an explicit null has a meaning: an empty bin is that null
 *           BYTES    msgpack bin
 *           STRINGS  a query parameter that may be repeated: msgpack array of str
 *           TIME     RFC 3339; travels as int, microseconds since 1970
 *           VALUE    any JSON value, which the handler checks with codes of its own: str (a string) | bin (any other
 *                    value, as its JSON text; empty: one larger than the range). Absent it is nil, a REQUIRED one too
 *           PLATFORM a STRING that is "ios" or "android"
 *           UUID     in a path: msgpack str
 * A path segment that cannot be an id travels as the empty text, which no resource has. Absent optional arguments
 * travel as nil. On the wire the arguments are one array in this order. */
enum field_source { FROM_PATH, FROM_QUERY, FROM_BODY, FROM_SELF };
enum field_type {
	TYPE_STRING,
	TYPE_INTEGER,
	TYPE_BOOLEAN,
	TYPE_OBJECT,
	TYPE_NULLABLE,
	TYPE_BYTES,
	TYPE_STRINGS,
	TYPE_TIME,
	TYPE_VALUE,
	TYPE_UUID,
	TYPE_PLATFORM, /* "ios" or "android": any other value, null too, is INVALID_REQUEST; travels as str */
};
enum field_need { NEED_OPTIONAL, NEED_REQUIRED };

struct field {
	const char       *name;
	enum field_source source;
	enum field_type   type;
	enum field_need   need;
	int64_t           min, max;
};

enum { ARGS_MAX = 16 };

/* The fields of a message, `*count` of them, in the order of its arguments. Errors: none. */
const struct field *message_fields(enum message message, unsigned *count);
