/* Dirty blocks as bits, a set for each account. A round takes the sets over as they are and goes through them in the order of
 * keys, so that nothing but accounts is sorted. A block that changes while it waits in the round is written in its newer
 * state. */
#include "store/cells_inside.h"

#include "schemas/bytes.h"

#include <stdlib.h>

enum { WORD_BITS = 64 };

static bool has_bit(const uint64_t *bits, uint32_t row)
{
	return bits[row / WORD_BITS] >> row % WORD_BITS & 1;
}

static void flip_bit(uint64_t *bits, uint32_t row)
{
	bits[row / WORD_BITS] ^= UINT64_C(1) << row % WORD_BITS;
}

void cells_set_dirty(struct cells *cells, struct cell_account *account, uint32_t row)
{
	if (has_bit(account->dirty, row)) return;
	flip_bit(account->dirty, row);
	cells->dirty++;
	cells_list(cells, account);
}

bool cells_is_dirty(const struct cell_account *account, uint32_t row)
{
	return has_bit(account->dirty, row) || has_bit(account->round, row);
}

uint64_t cells_dirty(const struct cells *cells)
{
	return cells->dirty + cells->tails.dirty + late_rows_dirty(cells);
}

uint64_t cells_left(const struct cells *cells)
{
	return cells->left + cells->tails.left + late_rows_left(cells);
}

uint64_t cells_new_rows(const struct cells *cells)
{
	return cells->new_rows;
}

static int by_id(const void *a, const void *b)
{
	const struct cell_account *const *one = a, *const *other = b;
	return memcmp((*one)->id.b, (*other)->id.b, sizeof(*one)->id.b);
}

/* Accounts of a round that is over: those that have no blocks may go, now or after the next one. A place in the new list is used
 * only when the old list has been read up to there. */
static void let_go(struct cells *cells, const struct account_list *done)
{
	for (uint32_t i = 0; i < done->count; i++) {
		struct cell_account *account = done->at[i];
		account->is_in_round = false;
		if (!cells_account_drop(cells, account) && !account->blocks) cells_list(cells, account);
	}
}

void cells_begin_round(struct cells *cells)
{
	struct account_list done = cells->round;
	must(cells->left + cells->tails.left == 0); /* late rows may have been taken ahead of it */
	cells->round = cells->listed;
	cells->listed = (struct account_list){.at = done.at};
	let_go(cells, &done);
	cells_reclaim(cells);
	for (uint32_t i = 0; i < cells->round.count; i++) {
		struct cell_account *account = cells->round.at[i];
		uint64_t            *taken = account->dirty;
		account->dirty = account->round; /* empty: its last round is over */
		account->round = taken;
		account->is_listed = false;
		account->is_in_round = true;
	}
	if (cells->round.count) qsort(cells->round.at, cells->round.count, sizeof *cells->round.at, by_id);
	cells->round_account = cells->round_word = 0;
	tails_begin_round(cells);
	(void)late_rows_take(cells);
	cells->left = cells->dirty;
	cells->dirty = 0;
}

/* The next row of the round; false: none. */
static bool next_row(struct cells *cells, struct cell_account **account, uint32_t *row)
{
	for (; cells->round_account < cells->round.count; cells->round_account++, cells->round_word = 0) {
		*account = cells->round.at[cells->round_account];
		const struct block_rows *rows = atomic_load_explicit(&(*account)->rows, memory_order_relaxed);
		uint32_t                 words = rows ? rows->room / WORD_BITS : 0;
		for (; cells->round_word < words; cells->round_word++) {
			uint64_t bits = (*account)->round[cells->round_word];
			if (!bits) continue;
			*row = cells->round_word * WORD_BITS + (uint32_t)__builtin_ctzll(bits);
			return true;
		}
	}
	return false;
}

static void to_row(const struct block *block, uint8_t row[HOT_ROW_BYTES])
{
	uint64_t counts = atomic_load_explicit(&block->counts, memory_order_relaxed), words[HOT_WORDS];
	memset(row, 0, HOT_COLUMNS_AT);
	put_le64(row, counts);
	for (unsigned i = 0; i < HOT_PASSES; i++) {
		for (unsigned w = 0; w < HOT_WORDS; w++)
			words[w] = atomic_load_explicit(&block->cells[i].words[w], memory_order_relaxed);
		hot_row_put_words(row, i, words);
	}
}

bool cells_take(struct cells *cells, struct account_id *id, uint32_t *number, uint8_t row[HOT_ROW_BYTES],
                bool *stored)
{
	struct cell_account *account;
	if (!next_row(cells, &account, number)) return false;
	struct block *block = cells_block(account, *number);
	flip_bit(account->round, *number);
	cells->left--;
	if (has_bit(account->dirty, *number)) {
		flip_bit(account->dirty, *number);
		cells->dirty--;
	}
	*id = account->id;
	to_row(block, row);
	*stored = block->is_stored;
	if (!block->is_stored) cells->new_rows--;
	block->is_stored = true;
	block->written = cells->commits + 1; /* the one to come */
	return true;
}
