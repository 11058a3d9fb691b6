/* Rows of texts in memory. An entry is valid in a view if it was read in it or earlier and the row was not written since
 * (view_row_moments()). A reader with an older view leaves it unchanged. */
#include "actors/shard/list/trigram_index.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)TRIGRAM_ROWS % (int)VIEW_ROWS == 0, "row_txns are read by words");

static unsigned bit_of(const uint8_t *at)
{
	uint32_t three = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
	return (three * 0x9e3779b1u) >> 21;
}
_Static_assert((int)TRIGRAM_BITS == 1 << (32 - 21) && (int)TRIGRAM_BYTES == 3,
               "bit_of() yields TRIGRAM_BITS values");

static uint32_t blocks_of(uint32_t rows)
{
	return rows / TRIGRAM_ROWS + (rows % TRIGRAM_ROWS != 0);
}

static void drop(struct list_cache_item *item)
{
	struct trigram_index *signs = (struct trigram_index *)item; /* its first member */
	for (uint32_t row = 0; row < signs->rows; row++)
		free(signs->list[row].copy);
	for (uint32_t block = 0; block < blocks_of(signs->rows); block++)
		free(signs->blocks[block]);
	free(signs->list);
	free(signs->blocks);
	free(signs);
}

static const struct list_cache_kind kind = {sizeof(struct trigram_index), drop};

/* Without copies, and with this number of blocks. */
static size_t bytes_with(const struct trigram_index *signs, size_t blocks)
{
	return signs->rows * sizeof *signs->list + blocks_of(signs->rows) * sizeof *signs->blocks +
	       blocks * sizeof **signs->blocks;
}

static void count_bytes(struct trigram_index *signs)
{
	signs->kept.bytes = bytes_with(signs, signs->blocks_made) + signs->copies_size;
}

/* New rows are unknown. */
static enum err make_room(struct trigram_index *signs, uint32_t rows)
{
	if (rows <= signs->rows) return OK;
	struct sign_block **blocks = realloc(signs->blocks, blocks_of(rows) * sizeof(struct sign_block *));
	if (!blocks) return ERR_NO_MEMORY;
	signs->blocks = blocks;
	for (uint32_t block = blocks_of(signs->rows); block < blocks_of(rows); block++)
		blocks[block] = NULL;
	struct sign *list = realloc(signs->list, rows * sizeof *list);
	if (!list) return ERR_NO_MEMORY;
	for (uint32_t row = signs->rows; row < rows; row++)
		list[row] = (struct sign){.moment = 0};
	signs->list = list;
	signs->rows = rows;
	count_bytes(signs);
	return OK;
}

enum err trigram_index_take(struct list_cache *kept, enum table table, struct account_id account,
                            uint32_t rows, struct trigram_index **out)
{
	struct trigram_index *signs = (struct trigram_index *)list_cache_take(kept, &kind, table, account, 0);
	*out = NULL;
	if (!signs) return ERR_NO_MEMORY;
	enum err err = make_room(signs, rows);
	if (err)
		list_cache_drop(&signs->kept);
	else
		*out = signs;
	return err;
}

void trigram_index_give(struct list_cache *kept, struct trigram_index **signs_p)
{
	struct trigram_index *signs = *signs_p;
	*signs_p = NULL;
	if (signs) list_cache_give(signs->rows < TRIGRAM_ROWS_MIN ? NULL : kept, &signs->kept);
}

/* For rows 64 * word and following: which are valid, and which of those are marked. */
static uint64_t stand(const struct trigram_index *signs, struct view *view, uint32_t word, uint64_t *marked)
{
	uint64_t row_txns[VIEW_ROWS], now = view_txn(view), found = 0;
	uint32_t first = word * VIEW_ROWS;
	*marked = 0;
	if (first >= signs->rows) return 0;
	view_row_moments(view, signs->kept.table, signs->kept.account, word, row_txns);
	for (uint32_t i = 0; i < VIEW_ROWS && first + i < signs->rows; i++) {
		const struct sign *sign = &signs->list[first + i];
		bool stands = sign->moment && sign->moment <= now && row_txns[i] <= sign->moment;
		found |= (uint64_t)stands << i;
		*marked |= (uint64_t)(stands && sign->is_marked) << i;
	}
	return found;
}

/* The rows of a block in which all bits of q are set. */
static void have(const struct sign_block *block, struct span q, uint64_t found[TRIGRAM_ROWS / 64])
{
	for (size_t i = 0; i + TRIGRAM_BYTES <= q.size; i++) {
		const uint64_t *bits = block->bits[bit_of(q.at + i)];
		for (unsigned word = 0; word < TRIGRAM_ROWS / 64; word++)
			found[word] &= bits[word];
	}
}

void trigram_index_look(const struct trigram_index *signs, struct view *view, uint32_t block, struct span q,
                        struct sign_look *look)
{
	enum { WORDS = TRIGRAM_ROWS / 64 };
	uint64_t marked[WORDS];
	for (uint32_t word = 0; word < WORDS; word++)
		look->stand[word] = stand(signs, view, block * WORDS + word, &marked[word]);
	memset(look->may, 0xff, sizeof look->may);
	if (!signs->blocks[block]) return;
	have(signs->blocks[block], q, look->may);
	for (uint32_t word = 0; word < WORDS; word++)
		look->may[word] |= ~marked[word];
}

struct span trigram_index_copy(const struct trigram_index *signs, uint32_t row)
{
	return span_of(signs->list[row].copy, signs->list[row].copy_size);
}

/* No copy if there is no memory: then the row is read again. */
static void copy_row(struct trigram_index *signs, struct sign *sign, struct span value)
{
	signs->copies_size -= sign->copy_size;
	size_t size = signs->copies_size + value.size;
	bool   fits = value.size && size <= TRIGRAM_COPIES_MAX &&
	            bytes_with(signs, blocks_of(signs->rows)) + size <= KEPT_BYTES_MAX;
	uint8_t *copy = fits ? realloc(sign->copy, value.size) : NULL;
	if (copy)
		memcpy(copy, value.at, value.size);
	else
		free(sign->copy);
	sign->copy = copy;
	sign->copy_size = copy ? (uint32_t)value.size : 0;
	signs->copies_size += sign->copy_size;
	count_bytes(signs);
}

bool trigram_index_note(struct trigram_index *signs, struct view *view, uint32_t row, struct span value)
{
	struct sign *sign = &signs->list[row];
	uint64_t     moment = view_txn(view);
	if (sign->moment > moment) return false;
	copy_row(signs, sign, value);
	sign->is_marked = false;
	sign->moment = moment;
	return true;
}

/* The block of a row, with the row's bits cleared; NULL: no memory. */
static struct sign_block *clear_row(struct trigram_index *signs, uint32_t row)
{
	struct sign_block **block = &signs->blocks[row / TRIGRAM_ROWS];
	uint64_t            others = ~(UINT64_C(1) << row % 64);
	if (!*block) {
		if (!(*block = aligned_alloc(TRIGRAM_ROWS / 8, sizeof **block))) return NULL;
		memset(*block, 0, sizeof **block);
		signs->blocks_made++;
		count_bytes(signs);
	}
	for (unsigned bit = 0; signs->list[row].is_used && bit < TRIGRAM_BITS; bit++)
		(*block)->bits[bit][row % TRIGRAM_ROWS / 64] &= others;
	return *block;
}

void trigram_index_mark(struct trigram_index *signs, uint32_t row, const struct text_row *texts)
{
	struct sign       *sign = &signs->list[row];
	struct span        all = texts->all;
	struct sign_block *block = sign->is_marked || texts->elsewhere ? NULL : clear_row(signs, row);
	if (!block) return;
	for (size_t i = 0; i + TRIGRAM_BYTES <= all.size; i++)
		block->bits[bit_of(all.at + i)][row % TRIGRAM_ROWS / 64] |= UINT64_C(1) << row % 64;
	sign->is_marked = sign->is_used = true;
}
