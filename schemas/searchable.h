#pragma once
#include "schemas/arena.h"
#include "schemas/body.h"
#include "schemas/buffer.h"

/* Search keys of a pass, computed from its body alone. Both functions append to `out`. Errors: ERR_DAMAGED
 * (`visible` is not a JSON object), ERR_NO_MEMORY. Source: decisions on `sort_by=name` and `q`. */
enum {
	NAME_CODE_POINTS_MAX = 100,
	SEARCHABLE_SEPARATOR = 0xff /* between separate texts; never part of UTF-8 */
};

/* The name for sorting: the folded value of the template's name_field, its first NAME_CODE_POINTS_MAX code points;
 * nothing if the template has none (size 0) or the pass no value. */
must_check enum err searchable_name(const struct body *body, struct span name_field, struct arena *arena,
                                    struct buffer *out);

/* The text that `q` searches, without the balance: the folded id and visible values, separated by
 * SEARCHABLE_SEPARATOR. */
must_check enum err searchable_text(const struct body *body, struct arena *arena, struct buffer *out);
