/* Ids of passes and their cells. A cell has a fingerprint if, and only if, a slot of the index names the cell: both are set and
 * cleared here. */
#include "store/cells_inside.h"

#include "schemas/bytes.h"
#include "store/db_inside.h"

enum { NUMBER_BYTES = 4 }; /* at the end of a key */

static struct siphash print_of(const struct cells *cells, struct span key)
{
	return siphash(&cells->id_key, span_of(key.at, key.size - NUMBER_BYTES));
}

static bool has_ids(const struct view *view)
{
	return view->cells && view == &view->db->writer;
}

bool cells_find_id(struct view *view, struct span key, uint32_t *number)
{
	uint32_t cell;
	if (!has_ids(view)) return false;
	if (!id_index_find(&view->cells->ids, print_of(view->cells, key), &cell)) return false;
	*number = cells_block_at(view->cells, cell / HOT_PASSES)->row * HOT_PASSES + cell % HOT_PASSES;
	return true;
}

static void forget(struct cells *cells, struct siphash print)
{
	uint32_t cell;
	if (id_index_remove(&cells->ids, print, &cell))
		cells_cell_at(cells, cell)->print = (struct siphash){0, 0};
}

void cells_forget_ids(struct cells *cells, struct block *block)
{
	for (unsigned i = 0; i < HOT_PASSES; i++)
		if (is_fingerprint(block->cells[i].print)) forget(cells, block->cells[i].print);
}

/* The cell belongs to this id from now on. */
static void learn(struct cells *cells, struct siphash print, const struct block *block, unsigned index)
{
	uint32_t     number = block->place * HOT_PASSES + index, other;
	struct cell *cell = cells_cell_at(cells, number);
	if (is_fingerprint(cell->print)) forget(cells, cell->print);
	cell->print = print;
	if (id_index_put(&cells->ids, print, number, &other))
		cells_cell_at(cells, other)->print = (struct siphash){0, 0};
}

void cells_learn_id(struct view *view, struct span key, uint32_t number)
{
	struct account_id   id;
	const struct block *block;
	if (!has_ids(view)) return;
	memcpy(id.b, key.at, sizeof id.b);
	block = cells_block(cells_account(view->cells, id), number / HOT_PASSES);
	if (block) learn(view->cells, print_of(view->cells, key), block, number % HOT_PASSES);
}

/* Is it the account's newest pass, or about to be made? Then no other pass with its id is newer. In a full row nobody knows. */
static bool is_newest(const struct block *block, unsigned index)
{
	uint8_t counts[HOT_COUNTS];
	put_le64(counts, atomic_load_explicit(&block->counts, memory_order_relaxed));
	unsigned used = counts[HOT_COUNT_USED];
	return index == used || (index + 1 == used && used < HOT_PASSES);
}

void cells_on_id(struct view *writer, const struct write *write)
{
	struct cells     *cells = writer->cells;
	struct span       key = write->key;
	struct account_id id;
	if (!cells || key.size < sizeof id.b + NUMBER_BYTES) return;
	struct siphash print = print_of(cells, key);
	forget(cells, print);
	if (write->kind == WRITE_DEL) return;
	memcpy(id.b, key.at, sizeof id.b);
	uint32_t      number = ~get_be32(key.at + key.size - NUMBER_BYTES);
	struct block *block = cells_block(cells_account(cells, id), number / HOT_PASSES);
	if (block && is_newest(block, number % HOT_PASSES)) learn(cells, print, block, number % HOT_PASSES);
}
