#pragma once
#include "schemas/ids.h"
#include "store/hot.h"
#include "store/text.h"
#include "store/view.h"

/* The cache of lists: columns of an account's passes, and the texts of one of its tables. An item belongs to the reader that
 * took it until that reader gives it back; a second reader meanwhile gets a new one. The least recently used items are
 * dropped when there are too many. Errors: as view.h, and ERR_NO_MEMORY. */
enum {
	LIST_CACHE_MAX = 192, /* accounts and tables; further ones are read for each list */
};

struct list_cache;
/* `bytes_max`: of all items that no reader has. */
must_check enum err list_cache_new(struct list_cache **cache, size_t bytes_max);
void                list_cache_free(struct list_cache **cache);

/* The head of an item. */
struct list_kept {
	struct account_id account;
	enum table        table; /* HOT: columns */
	size_t            bytes;
	uint64_t          moment; /* columns: of the view that they show */
};

/* Columns: the values that lists compare, of all passes, by number. 18 bytes a pass. */
enum {
	COLUMNS_PASSES_MIN = 4096, /* smaller accounts are read quickly, and not kept */
	COLUMN_WORD = 64,          /* passes with bounds of their own */
};

struct columns {
	struct list_kept   kept;
	uint32_t           made, room;
	struct hot_columns of;
	int64_t           *oldest, *newest; /* `updated` of each COLUMN_WORD passes */
};

/* Takes the columns of passes 0 to made - 1, as of this view. `cache` may be NULL: nothing is kept. Errors: also ERR_DAMAGED:
 * passes are missing. */
must_check enum err columns_take(struct list_cache *cache, struct view *view, struct account_id account,
                                 uint32_t made, struct columns **columns);
void                columns_give(struct list_cache *cache, struct columns **columns);

/* Texts: two things about each row of an account's folded texts, so that a search need not read the row again.
 *
 * - The row as stored, while the copies of all rows take at most TEXT_COPIES_MAX. Copies are checked and close together; the
 *   table's pages are scattered, and each row's checksum must be compared.
 * - Its trigram bitmap: each three adjacent bytes of its texts set one of TRIGRAM_BITS bits. A row without all bits of q does
 *   not contain q; a row with all of them is searched. The same bit of many rows is stored together, so a few words show
 *   which rows of an account may contain q. */
enum {
	TRIGRAM_BYTES = 3,
	/* A row of 32 names and ids sets a quarter, so five letters leave one row in a thousand. */
	TRIGRAM_BITS = 2048,
	TRIGRAM_ROWS = 512,   /* rows whose bits are stored together: a cache line */
	TEXTS_ROWS_MIN = 128, /* less text is read quickly, and not kept */
	/* For some 1.3 million passes; more would displace data that is more expensive to rebuild. */
	TEXT_COPIES_MAX = 32 << 20,
};

/* The bits of TRIGRAM_ROWS rows: all words of the first bit, then of the next. */
struct trigram_block {
	uint64_t bits[TRIGRAM_BITS][TRIGRAM_ROWS / 64];
};

struct kept_row {
	uint64_t moment; /* of the view in which it was read; 0: it is unknown */
	uint8_t *copy;   /* NULL: none */
	uint32_t copy_size;
	bool     is_marked; /* its bits are in the block: set by the first q that is long enough */
	bool     is_used;   /* some bits are set, perhaps of an earlier version */
};

struct kept_texts {
	struct list_kept       kept;
	uint32_t               rows;
	size_t                 copies_size;
	size_t                 bytes_max; /* more is not kept */
	struct kept_row       *list;
	struct trigram_block **blocks; /* NULL: none of its rows is marked */
	size_t                 blocks_made;
};

/* Takes the texts of `rows` rows. */
must_check enum err kept_texts_take(struct list_cache *cache, enum table table, struct account_id account,
                                    uint32_t rows, struct kept_texts **texts);
void                kept_texts_give(struct list_cache *cache, struct kept_texts **texts);

/* For rows TRIGRAM_ROWS * block and following, a bit each. `known`: the kept row is right in the view. `may`: the row may
 * contain q; set for each row that is not known. */
struct kept_look {
	uint64_t known[TRIGRAM_ROWS / 64], may[TRIGRAM_ROWS / 64];
};
void kept_texts_look(const struct kept_texts *texts, struct view *view, uint32_t block, struct span q,
                     struct kept_look *look);

static inline bool kept_look_has(const uint64_t *bits, uint32_t row)
{
	return bits[row % TRIGRAM_ROWS / 64] >> row % 64 & 1;
}

/* The copy of a known row; of size 0 if there is none. */
struct span kept_texts_copy(const struct kept_texts *texts, uint32_t row);

/* The row is `value` in this view. False: a later version is known already. */
bool kept_texts_note(struct kept_texts *texts, struct view *view, uint32_t row, struct span value);

/* Sets the bits of a known row if it has none. A row gets none, and so may contain anything, if one of its texts is stored
 * elsewhere or there is no memory. */
void kept_texts_mark(struct kept_texts *texts, uint32_t row, const struct text_row *of);
