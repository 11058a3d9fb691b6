#pragma once
#include "schemas/arena.h"
#include "schemas/body.h"
#include "schemas/buffer.h"

/* What a pass is found by, computed from its body alone. Both append to `out`.
 * Errors: ERR_DAMAGED (`visible` is no JSON object), ERR_NO_MEMORY. Source: decisions on `sort_by=name` and `q`. */
enum {
	NAME_CODE_POINTS_MAX = 100,
	SEARCHABLE_SEPARATOR = 0xff /* between what is searched apart; no UTF-8 has it */
};

/* The name it is ordered by: the folded value of the template's name_field, its first NAME_CODE_POINTS_MAX code points;
 * nothing where the template has none (size 0) or the pass no value. */
must_check enum err searchable_name(const struct body *body, struct span name_field, struct arena *arena,
                                    struct buffer *out);

/* What `q` looks into, but for the counter: its folded id and visible values, kept apart by SEARCHABLE_SEPARATOR. */
must_check enum err searchable_text(const struct body *body, struct arena *arena, struct buffer *out);
