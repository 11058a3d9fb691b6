#pragma once
#include "schemas/span.h"

/* Decodes %XX, and `+` as a space if `plus_is_space`, into `out`, which has room for text.size bytes. Units: bytes.
 * false if a % is not followed by two hex digits; `*size` is then undefined. */
bool percent_decode(struct span text, bool plus_is_space, uint8_t *out, size_t *size);

/* Takes the next `name=value` off the front of a query string; both are still encoded. A pair without `=` has an
 * empty value; empty pairs are skipped. false at the end. */
bool query_next(struct span *rest, struct span *name, struct span *value);

/* Forms of the decoded name of a parameter that takes several values. */
enum query_form {
	QUERY_PLAIN,  /* `name` */
	QUERY_ARRAY,  /* `name[]` or `name[0]`, with any digits: cut to `name` */
	QUERY_BROKEN, /* other brackets behind it: cut to `name`, though not an array's form */
};
enum query_form query_cut_form(struct span *name);
