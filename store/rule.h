#pragma once
#include "schemas/clock.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Activation rules, by account and id; and for each rule that fires once, the passes it fired for. Errors: as view.h.
 * RULE value, little-endian: version u8 (1) | created i64 | updated i64 | the rule as JSON text (schemas/rule.h).
 * RULE_FIRED: account | the rule's id | the pass's number u32, without a value. A deleted rule's rows are removed in
 * the background. Rows of both are put and deleted, never patched. */
struct rule_row {
	struct uuid id;
	wall_us     created, updated;
	struct span text;
};

must_check enum err rule_row_get(struct view *view, struct account_id account, struct uuid id,
                                 struct rule_row *row);
must_check enum err rule_row_put(struct view *view, struct account_id account, const struct rule_row *row);
must_check enum err rule_row_del(struct view *view, struct account_id account, struct uuid id);

/* Reads the account's next rule after `*row` (all zero: the first), in order of id, which is the order of creation.
 * The text is in `room`, or as view.h says, until the next call. A range read. Errors: ERR_NOT_FOUND: no more. */
must_check enum err rule_row_next(struct view *view, struct account_id account, struct buffer *room,
                                  struct rule_row *row);

/* Decodes a stored value. The id is in its key; the text points into `value`. Errors: ERR_DAMAGED. */
must_check enum err rule_row_read(struct span value, struct rule_row *row);

/* Has the rule fired for the pass? */
must_check enum err rule_fired_get(struct view *view, struct account_id account, struct uuid id,
                                   uint32_t number, bool *fired);
struct cleanup;
/* One step of removing a rule's rows, as in image.h. A range read. */
must_check enum err rule_fired_clean(struct view *view, struct cleanup *row, bool *done);
must_check enum err rule_fired_put(struct view *view, struct account_id account, struct uuid id,
                                   uint32_t number);
