#pragma once
#include "schemas/ids.h"
#include "store/view.h"

/* States of templates, by their number in the account. TEMPLATE_STATE row: account | number u32 -> state u8; a
 * template from which no pass was made has none. Passes are never removed, even when deleted, so a used template
 * stays used. The number of a deleted template is not reused. Rows are put, never deleted or patched. Errors: as
 * view.h. */
enum template_state { TEMPLATE_UNUSED = 0, TEMPLATE_USED = 1, TEMPLATE_DELETED = 2 };

must_check enum err template_state_get(struct view *view, struct account_id account, uint32_t number,
                                       enum template_state *state);
must_check enum err template_state_put(struct view *view, struct account_id account, uint32_t number,
                                       enum template_state state);

/* How many of the account's templates were deleted. A range read. */
must_check enum err template_count_deleted(struct view *view, struct account_id account, uint32_t *count);

/* A stored value, USED or DELETED. Errors: ERR_DAMAGED. */
must_check enum err template_state_read(struct span value, enum template_state *state);
