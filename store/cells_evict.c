/* Blocks that go.
 *
 * A clock: a hand goes round the pool; a block that was used since it last came by gets another turn. A block goes if it is
 * clean and the commit that has its row is made, and is not newer than any view under way. Then each view, now and later, may
 * read the row in LMDB instead: what LMDB has is the block as it was since that commit, since any later change would have made
 * it dirty. */
#include "store/cells_inside.h"

enum {
	LOOKS_MAX = 128,   /* places that one call looks at */
	GOING_MAX = 4,     /* blocks that go in one call, */
	TRIMMED_MAX = 32,  /* after a commit */
	RETIRED_MIN = 8,   /* blocks that may wait until they are free: so many, */
	RETIRED_SHARE = 8, /* or this part of those in use */
};

/* The bound ----------------------------------------------------------------------------------------------- */

void cells_set_bound(struct cells *cells, struct cells_bound bound)
{
	cells->bound = bound;
}

struct cells_usage cells_usage(const struct cells *cells)
{
	uint64_t blocks = cells->blocks + cells->retired;
	return (struct cells_usage){.bytes = blocks * sizeof(struct block) + cells->account_bytes +
	                                     cells->tails.ring_bytes + id_index_bytes(&cells->ids),
	                            .blocks = blocks,
	                            .evictions = cells->evictions};
}

unsigned cells_pressure(const struct cells *cells)
{
	uint64_t dirty = (cells->dirty + cells->left) * 100; /* tails have a bound of their own */
	uint64_t blocks = cells->bound.blocks;
	if (!blocks) blocks = cells->bound.bytes / sizeof(struct block);
	return blocks ? (unsigned)(dirty / blocks) : 0;
}

/* Does one more block not fit? Those that are retired do not count, or a view under way would drive out all others. */
static bool is_full(const struct cells *cells)
{
	uint64_t free_soon = cells->retired * sizeof(struct block), one = sizeof(struct block);
	if (cells->bound.blocks && cells->blocks >= cells->bound.blocks) return true;
	return cells->bound.bytes && cells_usage(cells).bytes - free_soon + one > cells->bound.bytes;
}

/* There are never many besides. */
static bool may_retire(const struct cells *cells)
{
	return cells->retired < RETIRED_MIN || cells->retired < cells->blocks / RETIRED_SHARE;
}

/* The clock ----------------------------------------------------------------------------------------------- */

static bool may_go(const struct cells *cells, const struct block *block, uint64_t commit)
{
#ifdef FAULT_LATE_EVICT_NEWER
	commit = UINT64_MAX; /* the fault: views under way may be older than the commit with the row */
#endif
	if (block->written > commit || block->written > cells->commits) return false;
	/* The account's last block goes with the account, so it waits for the ledger's rows. */
	if (block->account->blocks == 1 && !tail_may_go(cells, &block->account->tail, commit)) return false;
#ifdef FAULT_LATE_EVICT_DIRTY
	return block->is_stored; /* the fault: a block goes although LMDB has an older row */
#endif
	return !cells_is_dirty(block->account, block->row);
}

#ifdef FAULT_LATE_EVICT_DIRTY
static void lose(struct cells *cells, const struct cell_account *account, uint32_t row)
{
	uint64_t *dirty = &account->dirty[row / 64], *round = &account->round[row / 64],
	         bit = UINT64_C(1) << row % 64;
	cells->dirty -= (*dirty & bit) != 0;
	cells->left -= (*round & bit) != 0;
	*dirty &= ~bit;
	*round &= ~bit;
}
#endif

static void let_go(struct cells *cells, struct block *block)
{
	struct cell_account *account = block->account;
#ifdef FAULT_LATE_EVICT_DIRTY
	lose(cells, account, block->row);
#endif
	cells_forget_ids(cells, block);
	cells_publish(account, block->row, NULL);
	block->account = NULL;
	account->blocks--;
	cells->evictions++;
	cells->blocks--;
	cells->retired++;
	cells_retire(cells, &cells->retired_blocks, &block->retired);
	(void)cells_account_drop(cells, account);
}

/* A view that begins after the look at readers is of the newest commit, so no block is too new for it. But it may find a block
 * that goes only then: so readers are looked at again before the memory is used again. */
static bool evict(struct cells *cells, unsigned going_max)
{
	if (!is_full(cells)) return true;
	cells_reclaim(cells);
	uint64_t commit = cells_oldest(cells).commit;
	unsigned looks_max = cells->places ? LOOKS_MAX : 0;
	for (unsigned looks = 0, going = 0; looks < looks_max && going < going_max && is_full(cells);
	     looks++) {
		if (!may_retire(cells)) break;
		struct block *block = cells_block_at(cells, cells->hand);
		cells->hand = cells->hand + 1 < cells->places ? cells->hand + 1 : 0;
		if (!block->account) continue;
		if (block->is_used) {
			block->is_used = false;
			continue;
		}
		if (!may_go(cells, block, commit)) continue;
		let_go(cells, block);
		cells_reclaim(cells);
		going++;
	}
	return !is_full(cells);
}

bool cells_make_room(struct cells *cells)
{
	return evict(cells, GOING_MAX);
}

void cells_trim(struct cells *cells)
{
	(void)evict(cells, TRIMMED_MAX);
}
