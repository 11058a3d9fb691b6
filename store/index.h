#pragma once
#include "schemas/body.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Everything that passes are looked up by, kept beside their bodies: rows of PASS_ID, NAME, TEXT and of the two orders
 * ID_ORDER and NAME_ORDER. The only writer of these tables. */
struct index_change {
	struct account_id  account;
	uint32_t           number;
	struct span        name_field;     /* of the pass's template; size 0: none */
	const struct body *before, *after; /* before NULL: a new pass */
};

/* Stages the change, of the id too: no row keeps an id, name or text that was given up. Reads ranges, so it comes before the
 * command's first write.
 * Errors: as view.h, ERR_DAMAGED also if the tables contradict each other. */
must_check enum err index_put(struct view *view, const struct index_change *change);
