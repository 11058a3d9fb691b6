#pragma once
#include "schemas/span.h"

/* The word of `words` that `word` was most likely meant to be; NULL: none is close. Close is one edit (insert,
 * delete, replace, or swap two) for a word of 3 to 5 characters, two for a longer one. Pure. Errors: none. */
enum { NEAREST_BYTES_MAX = 40 };
const char        *nearest(const char *word, const char *const *words, size_t count);
const struct span *nearest_span(struct span word, const struct span *words, size_t count);
