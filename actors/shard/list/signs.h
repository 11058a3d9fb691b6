#pragma once
#include "actors/shard/list/kept.h"
#include "store/text.h"
#include "store/view.h"

/* What is remembered of the rows of an account's folded texts, so that a search need not read them again:
 *
 * - the row as it is stored, while the copies of all rows take no more than SIGNS_COPIES_MAX: they have been checked, and
 *   lie close together, where the table's pages lie anywhere and each row is held against its sum;
 * - its sign: which three bytes, side by side, are in its texts, as SIGN_BITS bits, of which each three set one. A row in
 *   which not all of q's are set does not hold q; one in which they are is looked at. The same bit of many rows lies side
 *   by side, so that a few words tell of all rows of an account whether they may hold q.
 *
 * With each stands the moment as of which that is. Errors: as view.h. */
enum {
	SIGN_BYTES = 3,
	/* A row of 32 names and ids sets a quarter, so that five letters leave one row in a thousand. */
	SIGN_BITS = 2048,
	SIGN_ROWS = 512,      /* of which one bit lies together: a line of memory */
	SIGNS_ROWS_MIN = 128, /* less text is read in no time, and nothing is kept of it */
	/* Of some 1.3 million passes; more would drive out what is dearer to read anew. */
	SIGNS_COPIES_MAX = 32 << 20,
};

/* The bits of SIGN_ROWS rows: the words of one bit of the sign, then those of the next. */
struct sign_block {
	uint64_t bits[SIGN_BITS][SIGN_ROWS / 64];
};

struct sign {
	uint64_t moment; /* of the view it was made in; 0: nothing is known of the row */
	uint8_t *copy;   /* NULL: none */
	uint32_t copy_size;
	bool     is_marked; /* its bits are in the block: made when the first q comes that is long enough */
	bool     is_used;   /* some are, of what the row was */
};

struct signs {
	struct kept_item    kept;
	uint32_t            rows;
	size_t              copies_size;
	struct sign        *list;
	struct sign_block **blocks; /* NULL: no row of it is marked */
	size_t              blocks_made;
};

/* Of that many rows, the caller's until it gives them back. */
must_check enum err signs_take(struct kept *kept, enum table table, struct account_id account, uint32_t rows,
                               struct signs **signs);
void                signs_give(struct kept *kept, struct signs **signs);

/* Of rows SIGN_ROWS * block on, a bit each: of which is something known, as they are in the view; and which may hold q,
 * as all may of which nothing is known. */
struct sign_look {
	uint64_t stand[SIGN_ROWS / 64], may[SIGN_ROWS / 64];
};
void signs_look(const struct signs *signs, struct view *view, uint32_t block, struct span q,
                struct sign_look *look);

static inline bool sign_look_has(const uint64_t *bits, uint32_t row)
{
	return bits[row % SIGN_ROWS / 64] >> row % 64 & 1;
}

/* Of a row that stands: the row itself, of size 0 when there is no copy. */
struct span signs_copy(const struct signs *signs, uint32_t row);

/* The row is `value`, as of the view. False: more is known already, of a later moment. */
bool signs_note(struct signs *signs, struct view *view, uint32_t row, struct span value);

/* Makes the bits of a row that stands, if it has none yet. A row has none, and so may hold anything, while one of its
 * texts is elsewhere, or there is no memory for them. */
void signs_mark(struct signs *signs, uint32_t row, const struct text_row *texts);
