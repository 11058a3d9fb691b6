#pragma once
#include "schemas/buffer.h"

/* Text as searching and sorting by name compare it: decomposed by compatibility (NFKD), marks stripped, case folded,
 * letters without a decomposition replaced by their base, quotes and dashes by ASCII, invisible characters dropped.
 * Byte order of two such texts is code point order. Source: decisions on `q` and `sort_by=name`. Units: bytes of
 * UTF-8, and code points. */

/* Appends the folded text. The caller passes valid UTF-8. Errors: the buffer's `failed`. */
void fold_text(struct span text, struct buffer *out);

/* The same for a beginning that gives at least `points_max` code points, and few more; for all of a text that gives
 * fewer. */
void fold_first(struct span text, size_t points_max, struct buffer *out);

/* Only decomposes, strips marks and folds case: for slugs, in which every other character is a gap. */
void fold_marks(struct span text, struct buffer *out);

/* The first `count` code points of a text. */
struct span utf8_first(struct span text, size_t count);
size_t      utf8_length(struct span text); /* code points */
