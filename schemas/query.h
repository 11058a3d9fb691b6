#pragma once
#include "schemas/span.h"

/* Decodes %XX, and `+` as a space if `plus_is_space`, into `out`, which has room for text.size bytes.
 * Units: bytes. false when a % is not followed by two hex digits; `*size` then means nothing. */
bool percent_decode(struct span text, bool plus_is_space, uint8_t *out, size_t *size);

/* Takes the next `name=value` off the front of a query string; both are still encoded. A pair without `=` has
 * an empty value; empty pairs are passed over. false at the end. */
bool query_next(struct span *rest, struct span *name, struct span *value);

/* How a client may have written the name of a parameter (decoded) that takes several values. */
enum query_form {
	QUERY_PLAIN,  /* `name` */
	QUERY_ARRAY,  /* `name[]` or `name[0]`, with any digits: cut to `name` */
	QUERY_BROKEN, /* another bracket behind it: cut to `name`, though it is no array's form */
};
enum query_form query_cut_form(struct span *name);
