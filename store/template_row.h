#pragma once
#include "schemas/ids.h"
#include "store/view.h"

/* The operator's file of a template. TEMPLATE row: account | number u32 -> version u8 (1) | generation u32, little-endian | the
 * file as JSON text, without its id. The generation is 1 at first, and one more with each file that differs from the one before:
 * what was made of a template knows by it that the template has changed since. A value that begins with "{" is the text
 * alone, of generation 1: templates were stored so before they had generations. Errors: as view.h. */
struct template_row {
	uint32_t    generation;
	struct span text;
};

must_check enum err template_row_get(struct view *view, struct account_id account, uint32_t number,
                                     struct template_row *row);
must_check enum err template_row_put(struct view *view, struct account_id account, uint32_t number,
                                     const struct template_row *row);

/* A stored value; the text points into it. Errors: ERR_DAMAGED. */
must_check enum err template_row_read(struct span value, struct template_row *row);
