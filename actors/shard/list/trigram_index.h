#pragma once
#include "actors/shard/list/cache.h"
#include "store/text.h"
#include "store/view.h"

/* What is remembered of the rows of an account's folded texts, so that a search need not read them again:
 *
 * - the row as stored, while the copies of all rows take at most TRIGRAM_COPIES_MAX. Copies are checked and close together;
 *   the table's pages are scattered, and each row's checksum must be compared.
 * - its trigram bitmap: each three adjacent bytes of its texts set one of TRIGRAM_BITS bits. A row without all bits of q does
 *   not contain q; a row with all of them is searched. The same bit of many rows is stored together, so a few words show
 *   which rows of an account may contain q.
 *
 * Each has the moment of its view. Errors: as view.h. */
enum {
	TRIGRAM_BYTES = 3,
	/* A row of 32 names and ids sets a quarter, so five letters leave one row in a thousand. */
	TRIGRAM_BITS = 2048,
	TRIGRAM_ROWS = 512,     /* rows whose bits are stored together: a cache line */
	TRIGRAM_ROWS_MIN = 128, /* less text is read quickly and not cached */
	/* For some 1.3 million passes; more would displace data that is more expensive to rebuild. */
	TRIGRAM_COPIES_MAX = 32 << 20,
};

/* The bits of TRIGRAM_ROWS rows: all words of the first bit, then of the next. */
struct sign_block {
	uint64_t bits[TRIGRAM_BITS][TRIGRAM_ROWS / 64];
};

struct sign {
	uint64_t moment; /* of its view; 0: the row is unknown */
	uint8_t *copy;   /* NULL: none */
	uint32_t copy_size;
	bool     is_marked; /* its bits are in the block: set by the first q that is long enough */
	bool     is_used;   /* some bits are set, perhaps of an earlier version */
};

struct trigram_index {
	struct list_cache_item kept;
	uint32_t               rows;
	size_t                 copies_size;
	struct sign           *list;
	struct sign_block    **blocks; /* NULL: none of its rows is marked */
	size_t                 blocks_made;
};

/* For that many rows; the caller gives it back. */
must_check enum err trigram_index_take(struct list_cache *kept, enum table table, struct account_id account,
                                       uint32_t rows, struct trigram_index **signs);
void                trigram_index_give(struct list_cache *kept, struct trigram_index **signs);

/* For rows TRIGRAM_ROWS * block and following, a bit each: `stand`: known and valid in the view; `may`: may contain q, as all
 * unknown rows may. */
struct sign_look {
	uint64_t stand[TRIGRAM_ROWS / 64], may[TRIGRAM_ROWS / 64];
};
void trigram_index_look(const struct trigram_index *signs, struct view *view, uint32_t block, struct span q,
                        struct sign_look *look);

static inline bool sign_look_has(const uint64_t *bits, uint32_t row)
{
	return bits[row % TRIGRAM_ROWS / 64] >> row % 64 & 1;
}

/* The copy of a valid row; of size 0 if there is none. */
struct span trigram_index_copy(const struct trigram_index *signs, uint32_t row);

/* The row is `value` in this view. False: a later version is known already. */
bool trigram_index_note(struct trigram_index *signs, struct view *view, uint32_t row, struct span value);

/* Sets the bits of a valid row if it has none. A row gets none, and so may contain anything, if one of its texts is stored
 * elsewhere or there is no memory. */
void trigram_index_mark(struct trigram_index *signs, uint32_t row, const struct text_row *texts);
