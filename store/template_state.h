#pragma once
#include "schemas/ids.h"
#include "store/hot.h"

/* States of templates, by their number in the account. TEMPLATE_STATE row: account | number u32 -> state u8, passes u32,
 * installed u32: how many passes of the template are not deleted, and how many of these are `active`. A row from before
 * wallets ends after `passes`, and stays so until the template has no pass. A template from which no pass was ever made has no row. A retired one
 * was deleted after its passes: it can no longer be chosen, but deleted passes are still shown by its fields, so its
 * text stays. The number of a deleted template is not reused. Rows are put, never deleted or patched. Errors: as view.h. */
enum template_state { TEMPLATE_UNUSED = 0, TEMPLATE_USED = 1, TEMPLATE_DELETED = 2, TEMPLATE_RETIRED = 3 };

struct template_use {
	enum template_state state;
	uint32_t            passes;         /* not deleted; 0 unless USED */
	uint32_t            installed;      /* of these: active */
	bool                is_from_before; /* `installed` is not known, and 0 */
};

must_check enum err template_use_get(struct view *view, struct account_id account, uint32_t number,
                                     struct template_use *use);
must_check enum err template_use_put(struct view *view, struct account_id account, uint32_t number,
                                     const struct template_use *use);

/* Stages that a pass came (`before` NULL) or changed. Writes nothing if its template's counts stay. Errors: ERR_DAMAGED: a pass
 * came to a template that is deleted or retired, or more go than there are. */
must_check enum err template_count_pass(struct view *view, struct account_id account,
                                        const struct hot *before, const struct hot *after);

/* How many of the account's templates were deleted or retired. A range read. */
must_check enum err template_count_deleted(struct view *view, struct account_id account, uint32_t *count);

/* A stored value, never UNUSED. Errors: ERR_DAMAGED. */
must_check enum err template_use_read(struct span value, struct template_use *use);
