#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Audiences: passes that a notification can be sent to together. Row of AUDIENCE, by account and id, little-endian: version
 * u8 (1) | created i64 | size of the name u16 | name | numbers of its passes u32, rising, each once. A pass that was deleted
 * stays in it. Put, never patched. Errors: as view.h. */
struct audience {
	struct uuid     id;
	wall_us         created;
	struct span     name;
	uint32_t        count;
	const uint32_t *passes; /* to write: numbers, rising */
	struct span     stored; /* read: their bytes */
};

must_check enum err audience_row_get(struct view *view, struct account_id account, struct uuid id,
                                     struct audience *row);
/* OK or ERR_NOT_FOUND, whatever its size. */
must_check enum err audience_row_exists(struct view *view, struct account_id account, struct uuid id);
must_check enum err audience_row_put(struct view *view, struct account_id account,
                                     const struct audience *row);

/* The member at `index` of a row that was read. */
uint32_t audience_pass(const struct audience *row, uint32_t index);

/* A stored value; all but the id. Errors: ERR_DAMAGED. */
must_check enum err audience_read(struct span value, struct audience *row);
void                audience_write(const struct audience *row, struct buffer *value);
