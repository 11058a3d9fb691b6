#pragma once
#include "store/cells.h"
#include "store/id_index.h"
#include "store/late_rows_inside.h"
#include "store/retired.h"
#include "store/tails_inside.h"
#include "store/undo.h"

/* Shared by the files that hold cells. */

/* One cache line. Readers look at the words alone. */
struct cell {
	_Alignas(64) _Atomic uint64_t words[HOT_WORDS];
	struct siphash print; /* the fingerprint of account and id, if the index of ids has them */
};
_Static_assert(sizeof(struct cell) == 64, "a line");

struct block {
	_Alignas(64) _Atomic uint64_t counts; /* the row's, as they lie there */
	_Atomic uint64_t chain;               /* of its undo entries */

	/* The writer's. */
	struct retired       retired; /* or a link of the free ones */
	struct cell_account *account; /* NULL: it is retired or free */
	uint32_t             row;
	uint32_t             place; /* in the pool; its cells are place * HOT_PASSES and so on */
	uint64_t written;           /* the commit that has the row as it was last written; 0: read from it */
	bool     is_stored;         /* LMDB has the row */
	bool     is_used;           /* since the hand of the clock came by */

	struct cell cells[HOT_PASSES];
};
_Static_assert(sizeof(struct block) == 64 * (1 + HOT_PASSES), "lines of memory");

/* Blocks by the number of their row. One that is full is replaced by a larger one. */
struct block_rows {
	struct retired          retired;
	uint32_t                room;
	_Atomic(struct block *) at[];
};

struct cell_account {
	struct retired               retired;
	struct account_id            id;
	_Atomic(struct block_rows *) rows;

	/* The writer's: a bit a row. */
	uint64_t *dirty, *round;
	uint32_t  blocks;      /* in memory */
	bool      is_listed;   /* among those with dirty blocks, or a dirty tail */
	bool      is_in_round; /* among those of the round under way, or of the last one */

	struct tail tail; /* of the ledger */
};

/* Accounts by a hash of their id: open addressing. One that is half full is replaced by a larger one. */
struct account_table {
	struct retired                 retired;
	uint32_t                       mask, taken; /* of its slots, by gone accounts too */
	_Atomic(struct cell_account *) slots[];
};

struct account_list {
	struct cell_account **at;
	uint32_t              count;
};

/* LMDB has two meta pages, for even transactions and for odd ones. A reader notes the newest transaction and then copies the
 * roots of the tables from its page. If two commits come in between, it gets the roots of the second under the number of the
 * first, and LMDB does not notice. As there are two moments, and a commit changes its own before LMDB's page, such a view
 * finds no mark and begins again. */
enum { MOMENTS = 2 };

/* A reader's view, while it is under way. */
struct cells_reader {
	_Alignas(64) atomic_bool is_taken;
	_Atomic uint64_t epoch;  /* in which it began; 0: it is not under way */
	_Atomic uint64_t commit; /* that it is of; 0: not known yet */
};

struct cells {
	_Atomic(struct account_table *) accounts;
	uint32_t                        account_count, list_room;
	struct undo                    *undo;
	struct moment {
		_Atomic uint64_t txn, head; /* of the undo ring when `txn` was committed */
		_Atomic uint64_t commit;
	} moments[MOMENTS];
	uint64_t            commits; /* so far */
	_Atomic uint64_t    epoch;   /* rises with what is retired */
	struct cells_reader readers[CELLS_READERS];

	/* The pool of blocks, and the index of ids over their cells. */
	struct chunk      **chunks;
	uint32_t            chunk_count, chunk_room;
	uint32_t            places; /* taken of the pool at some time */
	struct retired     *free;   /* blocks */
	struct id_index     ids;
	struct siphash      id_key;
	struct cells_bound  bound;
	uint64_t            blocks;        /* in use, and */
	uint64_t            retired;       /* not yet free again */
	uint64_t            account_bytes; /* of what accounts need besides */
	uint64_t            evictions;
	uint32_t            hand; /* the place that the clock looks at next */
	struct retired_list retired_blocks, retired_memory;

	/* Dirty blocks, and those of the round under way. */
	struct account_list listed, round;
	uint32_t            round_account, round_word;
	uint64_t            dirty, left, new_rows;

	struct tails     tails;
	struct late_rows rows;
};

/* cells_pool.c. An account's cells, or NULL; made if absent; to be looked at by the next round. A new block, zeroed, of that
 * row; it is not found before cells_publish(). Errors: NULL: no memory. */
struct cell_account *cells_account(const struct cells *cells, struct account_id id);
struct cell_account *cells_account_made(struct cells *cells, struct account_id id);
void                 cells_list(struct cells *cells, struct cell_account *account);
struct block        *cells_block(const struct cell_account *account, uint32_t row);
struct block        *cells_block_made(struct cells *cells, struct cell_account *account, uint32_t row);
void                 cells_publish(struct cell_account *account, uint32_t row, struct block *block);
/* Removes the account if nothing of it is in memory that LMDB does not have or a view may need. False: something is. */
bool          cells_account_drop(struct cells *cells, struct cell_account *account);
struct block *cells_block_at(const struct cells *cells, uint32_t place);
struct cell  *cells_cell_at(const struct cells *cells, uint32_t number); /* place * HOT_PASSES + index */

void cells_forget_ids(struct cells *cells, struct block *block); /* cells_ids.c: of all its cells */

/* cells_evict.c. Lets blocks go until one more fits into the bound; takes no more than a few microseconds. False: none could
 * go just now. Pointers to clean blocks and to accounts are void after it. */
bool cells_make_room(struct cells *cells);

/* cells_epoch.c. The oldest epoch and commit of all views under way; UINT64_MAX: there is none. cells_retire(): no reader finds
 * it any more; cells_reclaim() frees what none can look at any more. */
struct cells_oldest {
	uint64_t epoch, commit;
};
struct cells_oldest cells_oldest(const struct cells *cells);
void                cells_retire(struct cells *cells, struct retired_list *list, struct retired *retired);
void                cells_reclaim(struct cells *cells);

/* cells_round.c: the block has changed; is it dirty, or waits in the round under way? */
void cells_set_dirty(struct cells *cells, struct cell_account *account, uint32_t row);
bool cells_is_dirty(const struct cell_account *account, uint32_t row);
