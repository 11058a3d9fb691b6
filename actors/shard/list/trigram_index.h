#pragma once
#include "actors/shard/list/cache.h"
#include "store/text.h"
#include "store/view.h"

/* What is remembered of the rows of an account's folded texts, so that a search need not read them again:
 *
 * - the row as it is stored, while the copies of all rows take no more than TRIGRAM_COPIES_MAX: they have been checked, and
 *   lie close together, where the table's pages lie anywhere and each row is held against its sum;
 * - its sign: which three bytes, side by side, are in its texts, as TRIGRAM_BITS bits, of which each three set one. A row in
 *   which not all of q's are set does not hold q; one in which they are is looked at. The same bit of many rows lies side
 *   by side, so that a few words tell of all rows of an account whether they may hold q.
 *
 * With each stands the moment as of which that is. Errors: as view.h. */
enum {
	TRIGRAM_BYTES = 3,
	/* A row of 32 names and ids sets a quarter, so that five letters leave one row in a thousand. */
	TRIGRAM_BITS = 2048,
	TRIGRAM_ROWS = 512,     /* of which one bit lies together: a line of memory */
	TRIGRAM_ROWS_MIN = 128, /* less text is read in no time, and nothing is kept of it */
	/* Of some 1.3 million passes; more would drive out what is dearer to read anew. */
	TRIGRAM_COPIES_MAX = 32 << 20,
};

/* The bits of TRIGRAM_ROWS rows: the words of one bit of the sign, then those of the next. */
struct sign_block {
	uint64_t bits[TRIGRAM_BITS][TRIGRAM_ROWS / 64];
};

struct sign {
	uint64_t moment; /* of the view it was made in; 0: nothing is known of the row */
	uint8_t *copy;   /* NULL: none */
	uint32_t copy_size;
	bool     is_marked; /* its bits are in the block: made when the first q comes that is long enough */
	bool     is_used;   /* some are, of what the row was */
};

struct trigram_index {
	struct list_cache_item kept;
	uint32_t               rows;
	size_t                 copies_size;
	struct sign           *list;
	struct sign_block    **blocks; /* NULL: no row of it is marked */
	size_t                 blocks_made;
};

/* Of that many rows, the caller's until it gives them back. */
must_check enum err trigram_index_take(struct list_cache *kept, enum table table, struct account_id account,
                                       uint32_t rows, struct trigram_index **signs);
void                trigram_index_give(struct list_cache *kept, struct trigram_index **signs);

/* Of rows TRIGRAM_ROWS * block on, a bit each: of which is something known, as they are in the view; and which may hold q,
 * as all may of which nothing is known. */
struct sign_look {
	uint64_t stand[TRIGRAM_ROWS / 64], may[TRIGRAM_ROWS / 64];
};
void trigram_index_look(const struct trigram_index *signs, struct view *view, uint32_t block, struct span q,
                        struct sign_look *look);

static inline bool sign_look_has(const uint64_t *bits, uint32_t row)
{
	return bits[row % TRIGRAM_ROWS / 64] >> row % 64 & 1;
}

/* Of a row that stands: the row itself, of size 0 when there is no copy. */
struct span trigram_index_copy(const struct trigram_index *signs, uint32_t row);

/* The row is `value`, as of the view. False: more is known already, of a later moment. */
bool trigram_index_note(struct trigram_index *signs, struct view *view, uint32_t row, struct span value);

/* Makes the bits of a row that stands, if it has none yet. A row has none, and so may hold anything, while one of its
 * texts is elsewhere, or there is no memory for them. */
void trigram_index_mark(struct trigram_index *signs, uint32_t row, const struct text_row *texts);
