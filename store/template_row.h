#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* The operator's file of a template. TEMPLATE row: account | number u32 -> version u8 (1) | look u32 | changed i64, little-endian |
 * the file as JSON text, without its id. The look changes with each file that differs from the one before. A value that begins
 * with "{" is the text alone, as older programs wrote it. Errors: as view.h. */
struct template_row {
	struct span text;
	uint32_t    look; /* the account's, as of its last change: looks in account_row.h; 0: from before */
	wall_us     changed; /* when that was; 0: not known */
};

must_check enum err template_row_get(struct view *view, struct account_id account, uint32_t number,
                                     struct template_row *row);
must_check enum err template_row_put(struct view *view, struct account_id account, uint32_t number,
                                     const struct template_row *row);

/* A stored value; the text points into it. Errors: ERR_DAMAGED. */
must_check enum err template_row_read(struct span value, struct template_row *row);
