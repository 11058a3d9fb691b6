#pragma once
#include "schemas/body.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Indexes over passes, beside their bodies: rows of PASS_ID, NAME, TEXT, ID_ORDER and NAME_ORDER. The only writer of
 * these tables. */
struct index_change {
	struct account_id  account;
	uint32_t           number;
	struct span        name_field;     /* of the pass's template; size 0: none */
	const struct body *before, *after; /* before NULL: a new pass */
};

/* The number of the newest pass with this id, which may be deleted. From memory if the writer has asked for it lately, else a
 * range read. Errors: ERR_NOT_FOUND; as view.h. */
must_check enum err index_find(struct view *view, struct account_id account, struct span pass_id,
                               uint32_t *number);
/* Likewise, of those below `number`. */
must_check enum err index_find_below(struct view *view, struct account_id account, struct span pass_id,
                                     uint32_t number, uint32_t *found);

/* Stages the change, including the id's: no row keeps a former id, name or text. Reads ranges, so it comes before the
 * command's first write.
 * Errors: as view.h, ERR_DAMAGED also if the tables contradict each other. */
must_check enum err index_put(struct view *view, const struct index_change *change);
