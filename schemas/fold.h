#pragma once
#include "schemas/buffer.h"

/* Text as searching and sorting by name compare it: decomposed by compatibility (NFKD), marks stripped, case folded,
 * letters without a decomposition taken as their base, quotes and dashes as ASCII's, invisible characters dropped;
 * of two such texts the order of bytes is the order of code points. Source: decisions on `q` and `sort_by=name`.
 * Units: bytes of UTF-8, and code points. */

/* Appends the folded text. Valid UTF-8 is the caller's to see to. Errors: the buffer's `failed`. */
void fold_text(struct span text, struct buffer *out);

/* The same of a beginning that gives at least `points_max` code points, and few more; of all where it gives fewer. */
void fold_first(struct span text, size_t points_max, struct buffer *out);

/* Decomposes, strips marks and folds case, and no more: for slugs, of which every other character is a gap. */
void fold_marks(struct span text, struct buffer *out);

/* The first `count` code points of a text. */
struct span utf8_first(struct span text, size_t count);
size_t      utf8_length(struct span text); /* code points */
