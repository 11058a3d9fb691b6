#pragma once
#include "actors/shard/list/kept.h"
#include "store/view.h"

/* Which three bytes, side by side, are in the folded texts of a row: SIGN_BITS bits, of which each three set one. A row in
 * which not all of q's are set does not hold q; one in which they are is looked at. Kept in memory for each row of an
 * account's texts with the moment as of which that is, and made when the row is read. Errors: as view.h. */
enum {
	SIGN_BYTES = 3,
	SIGN_BITS =
	    2048, /* a row of 32 names and ids sets a quarter, so that five letters leave one row in a thousand */
	SIGN_WORDS = SIGN_BITS / 64,
	SIGNS_ROWS_MIN = 128, /* less text is read in no time, and nothing is kept of it */
};

struct sign {
	uint64_t moment; /* of the view it was made in; 0: it was not made */
	uint64_t bits[SIGN_WORDS];
};

struct signs {
	struct kept_item kept;
	uint32_t         rows;
	struct sign     *list;
};

/* Of that many rows, the caller's until it gives them back. */
must_check enum err signs_take(struct kept *kept, enum table table, struct account_id account, uint32_t rows,
                               struct signs **signs);
void                signs_give(struct kept *kept, struct signs **signs);

/* Is there a sign of the row as it is in the view? And has it all of q's? */
bool signs_stand(const struct signs *signs, struct view *view, uint32_t row);
bool signs_have(const struct signs *signs, uint32_t row, struct span q);

/* The row holds these texts, as of the view; `unknown`: and others. */
void signs_note(struct signs *signs, struct view *view, uint32_t row, struct span texts, bool unknown);
