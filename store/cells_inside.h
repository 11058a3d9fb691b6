#pragma once
#include "store/cells.h"
#include "store/tails_inside.h"
#include "store/id_index.h"
#include "store/undo.h"

/* Shared by the files that hold cells. */

/* One line of memory. Readers look at the words alone. */
struct cell {
	_Alignas(64) _Atomic uint64_t words[HOT_WORDS];
	struct siphash print; /* the fingerprint of account and id, if the index of ids has them */
};
_Static_assert(sizeof(struct cell) == 64, "a line");

struct block {
	_Alignas(64) _Atomic uint64_t counts; /* the row's, as they lie there */
	_Atomic uint64_t chain;               /* of its undo entries */

	/* The writer's. */
	struct cell_account *account;
	uint32_t             row;
	uint32_t             place;     /* in the pool; its cells are place * HOT_PASSES and so on */
	bool                 is_stored; /* LMDB has the row */

	struct cell cells[HOT_PASSES];
};
_Static_assert(sizeof(struct block) == 64 * (1 + HOT_PASSES), "lines of memory");

/* Blocks by the number of their row. One that is full is replaced by a larger one. */
struct block_rows {
	uint32_t                room;
	struct block_rows      *replaced;
	_Atomic(struct block *) at[];
};

struct cell_account {
	struct account_id            id;
	_Atomic(struct block_rows *) rows;

	/* The writer's: a bit a row. */
	uint64_t *dirty, *round;
	bool      is_listed; /* among those with dirty blocks, or a dirty tail */

	struct tail tail; /* of the ledger */
};

/* Accounts by a hash of their id: open addressing. One that is half full is replaced by a larger one. */
struct account_table {
	uint32_t                       mask;
	struct account_table          *replaced;
	_Atomic(struct cell_account *) slots[];
};

struct account_list {
	struct cell_account **at;
	uint32_t              count;
};

enum { MOMENTS = 64 };

struct cells {
	_Atomic(struct account_table *) accounts;
	uint32_t                        account_count, list_room;
	struct undo                    *undo;
	struct moment {
		_Atomic uint64_t txn, head; /* of the undo ring when `txn` was committed */
	} moments[MOMENTS];

	/* The pool of blocks, and the index of ids over their cells. */
	struct chunk  **chunks;
	uint32_t        chunk_count, chunk_room;
	uint32_t        places; /* taken of the pool */
	struct id_index ids;
	struct siphash  id_key;

	/* Dirty blocks, and those of the round under way. */
	struct account_list listed, round;
	uint32_t            round_account, round_word;
	uint64_t            dirty, left, new_rows; /* `left` includes runs of tails */

	struct tails tails;
};

/* cells_pool.c. An account's cells, or NULL; made if absent; to be looked at by the next round. A new block, zeroed, of that
 * row; it is not found before cells_publish(). Errors: NULL: no memory. */
struct cell_account *cells_account(const struct cells *cells, struct account_id id);
struct cell_account *cells_account_made(struct cells *cells, struct account_id id);
void                 cells_list(struct cells *cells, struct cell_account *account);
struct block        *cells_block(const struct cell_account *account, uint32_t row);
struct block        *cells_block_made(struct cells *cells, struct cell_account *account, uint32_t row);
void                 cells_publish(struct cell_account *account, uint32_t row, struct block *block);
struct block        *cells_block_at(const struct cells *cells, uint32_t place);
struct cell *cells_cell_at(const struct cells *cells, uint32_t number); /* place * HOT_PASSES + index */

/* cells_round.c: the block has changed. */
void cells_set_dirty(struct cells *cells, struct cell_account *account, uint32_t row);
