/* Reading and changing cells. Words are single atomic accesses, so a reader sees each whole, whatever it sees of the others;
 * what belongs together is put together again by the entries that are laid back. */
#include "store/cells_inside.h"

#include "schemas/bytes.h"
#include "store/db_inside.h"
#include "store/keys.h"

static bool is_writer(const struct view *view)
{
	return view == &view->db->writer;
}

static bool split_key(struct span key, struct account_id *account, uint32_t *row)
{
	if (key.size != sizeof account->b + 4) return false;
	memcpy(account->b, key.at, sizeof account->b);
	*row = get_be32(key.at + sizeof account->b);
	return true;
}

/* Reading ------------------------------------------------------------------------------------------------- */

/* What is read of a block: the counts, and the cells from `first` on. */
struct reading {
	uint64_t counts;
	unsigned first, count;
	uint64_t (*words)[HOT_WORDS];
};

static void load_words(const struct cell *cell, uint64_t words[HOT_WORDS])
{
	for (unsigned i = 0; i < HOT_WORDS; i++)
		words[i] = atomic_load_explicit(&cell->words[i], memory_order_relaxed);
}

static void lay_back(void *user, unsigned index, const uint64_t words[HOT_WORDS])
{
	struct reading *reading = user;
	if (index == HOT_HEAD)
		reading->counts = words[0];
	else if (index - reading->first < reading->count)
		memcpy(reading->words[index - reading->first], words, HOT_WORDS * sizeof *words);
}

static enum err read_block(struct view *view, const struct block *block, struct reading *reading)
{
	reading->counts = atomic_load_explicit(&block->counts, memory_order_relaxed);
	for (unsigned i = 0; i < reading->count; i++)
		load_words(&block->cells[reading->first + i], reading->words[i]);
	if (is_writer(view)) return OK;
	enum err err = undo_each(view->cells->undo, &block->chain, view->mark, lay_back, reading);
	view->is_too_old |= err == ERR_OVERLOADED;
	return err;
}

static enum err row_of_tables(struct view *view, struct account_id account, uint32_t number, struct span *row)
{
	struct row_key key = key_u32(account, number);
	enum err       err = row_get(view, TABLE_HOT, key_span(&key), row);
	return !err && !hot_row_is_whole(*row) ? ERR_DAMAGED : err;
}

/* The writer: the block, made of the row in LMDB if it is absent. Errors: ERR_NOT_FOUND: there is no such row. */
static enum err load(struct view *writer, struct account_id id, uint32_t number,
                     struct cell_account **account, struct block **block)
{
	struct cells *cells = writer->cells;
	struct span   row;
	*account = cells_account(cells, id);
	if ((*block = cells_block(*account, number))) {
		(*block)->is_used = true;
		return OK;
	}
	enum err err = row_of_tables(writer, id, number, &row);
	if (err) return err;
	(void)cells_make_room(cells); /* a change needs the block in any case */
	if (!(*account = cells_account_made(cells, id))) return ERR_NO_MEMORY;
	if (!(*block = cells_block_made(cells, *account, number))) return ERR_NO_MEMORY;
	(*block)->is_stored = true;
	atomic_store_explicit(&(*block)->counts, get_le64(hot_row_counts(row)), memory_order_relaxed);
	for (unsigned i = 0; i < HOT_PASSES; i++) {
		uint64_t words[HOT_WORDS];
		hot_row_words(row, i, words);
		for (unsigned w = 0; w < HOT_WORDS; w++)
			atomic_store_explicit(&(*block)->cells[i].words[w], words[w], memory_order_relaxed);
	}
	cells_publish(*account, number, *block);
	return OK;
}

/* The block in memory, which the writer makes if there is room; NULL: it is to be read from LMDB. */
static enum err find(struct view *view, struct account_id id, uint32_t number, struct block **block)
{
	struct cell_account *account;
	*block = NULL;
	if (!view->cells) return OK;
	*block = cells_block(cells_account(view->cells, id), number);
	if (!is_writer(view)) return OK;
	if (*block) (*block)->is_used = true;
	if (*block || !cells_make_room(view->cells)) return OK;
	return load(view, id, number, &account, block);
}

enum err cells_get(struct view *view, struct account_id account, uint32_t number, uint8_t counts[HOT_COUNTS],
                   struct hot *pass)
{
	struct block  *block;
	struct span    row;
	unsigned       index = number % HOT_PASSES;
	uint64_t       words[1][HOT_WORDS];
	struct reading reading = {.first = index, .count = 1, .words = words};
	enum err       err = find(view, account, number / HOT_PASSES, &block);
	if (!err && block) {
		if ((err = read_block(view, block, &reading))) return err;
		put_le64(counts, reading.counts);
		*pass = hot_of_words(words[0]);
	} else {
		if (err || (err = row_of_tables(view, account, number / HOT_PASSES, &row))) return err;
		memcpy(counts, hot_row_counts(row), HOT_COUNTS);
		*pass = hot_row_pass(row, index);
	}
	return index < counts[HOT_COUNT_USED] ? OK : ERR_NOT_FOUND;
}

enum err cells_row(struct view *view, struct span key, struct span *row)
{
	uint64_t          words[HOT_PASSES][HOT_WORDS];
	struct reading    reading = {.count = HOT_PASSES, .words = words};
	struct block     *block;
	struct account_id account;
	uint32_t          number;
	if (!split_key(key, &account, &number)) return row_get(view, TABLE_HOT, key, row);
	enum err err = find(view, account, number, &block);
	if (err) return err;
	if (!block) return row_of_tables(view, account, number, row);
	if ((err = read_block(view, block, &reading))) return err;
	if (!reading.counts) return ERR_NOT_FOUND; /* it was made later */
	uint8_t *at = arena_take(view->arena, HOT_ROW_BYTES);
	if (!at) return ERR_NO_MEMORY;
	memset(at, 0, HOT_COLUMNS_AT);
	put_le64(at, reading.counts);
	for (unsigned i = 0; i < HOT_PASSES; i++)
		hot_row_put_words(at, i, words[i]);
	*row = span_of(at, HOT_ROW_BYTES);
	return OK;
}

bool cells_bring(struct view *view, struct account_id account, uint32_t number)
{
	struct block *block;
	if (!view->cells || !is_writer(view)) return false;
	return !find(view, account, number / HOT_PASSES, &block) && block;
}

bool cells_has(struct view *view, struct account_id account, uint32_t row)
{
	return view->cells && cells_block(cells_account(view->cells, account), row);
}

enum err cells_columns(struct view *view, struct account_id account, uint32_t number,
                       const struct hot_columns *columns, unsigned *used)
{
	uint64_t       words[HOT_PASSES][HOT_WORDS];
	struct reading reading = {.count = HOT_PASSES, .words = words};
	struct block  *block;
	struct span    row;
	uint8_t        counts[HOT_COUNTS];
	enum err       err = find(view, account, number, &block);
	if (err) return err;
	if (!block) {
		if ((err = row_of_tables(view, account, number, &row))) return err;
		*used = hot_row_counts(row)[HOT_COUNT_USED];
		hot_row_columns(row, columns);
		return OK;
	}
	if ((err = read_block(view, block, &reading))) return err;
	put_le64(counts, reading.counts);
	*used = counts[HOT_COUNT_USED];
	for (unsigned i = 0; i < *used; i++)
		hot_words_columns(words[i], columns, i);
	return *used ? OK : ERR_NOT_FOUND;
}

/* Moments --------------------------------------------------------------------------------------------------- */

void cells_commit(struct cells *cells, uint64_t txn)
{
	struct moment *moment = &cells->moments[txn % MOMENTS];
	atomic_store_explicit(&moment->txn, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&moment->head, undo_head(cells->undo), memory_order_relaxed);
	atomic_store_explicit(&moment->commit, ++cells->commits, memory_order_relaxed);
	atomic_store_explicit(&moment->txn, txn, memory_order_release);
}

bool cells_mark(const struct cells *cells, uint64_t txn, struct cells_reader *reader, uint64_t *mark)
{
	const struct moment *moment = &cells->moments[txn % MOMENTS];
	if (atomic_load_explicit(&moment->txn, memory_order_acquire) != txn) return false;
	*mark = atomic_load_explicit(&moment->head, memory_order_relaxed);
	uint64_t commit = atomic_load_explicit(&moment->commit, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&moment->txn, memory_order_relaxed) != txn) return false;
	atomic_store_explicit(&reader->commit, commit, memory_order_release);
	return true;
}

/* Changing ------------------------------------------------------------------------------------------------ */

/* A block that is being changed. */
struct change {
	struct cells        *cells;
	struct cell_account *account;
	struct block        *block;
};

static void change_counts(struct change *change, uint64_t counts)
{
	uint64_t before[HOT_WORDS] = {atomic_load_explicit(&change->block->counts, memory_order_relaxed)};
	if (before[0] == counts) return;
	undo_put(change->cells->undo, &change->block->chain, HOT_HEAD, before);
	atomic_store_explicit(&change->block->counts, counts, memory_order_relaxed);
}

static void change_cell(struct change *change, unsigned index, const uint64_t words[HOT_WORDS])
{
	struct cell *cell = &change->block->cells[index];
	uint64_t     before[HOT_WORDS];
	load_words(cell, before);
	if (!memcmp(before, words, sizeof before)) return;
	undo_put(change->cells->undo, &change->block->chain, index, before);
	for (unsigned i = 0; i < HOT_WORDS; i++)
		if (before[i] != words[i])
			atomic_store_explicit(&cell->words[i], words[i], memory_order_relaxed);
}

/* The first row of an account, or one behind a full row: numbers have no gaps. */
static enum err check_dense(struct view *writer, struct account_id id, uint32_t number)
{
	struct hot pass;
	uint8_t    counts[HOT_COUNTS];
	if (number == 0) return OK;
	enum err err = cells_get(writer, id, number * HOT_PASSES - 1, counts, &pass);
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

/* The block of a row that LMDB does not have: published without passes, and then changed like any other. */
static enum err make_block(struct view *writer, struct account_id id, uint32_t number, struct change *change)
{
	enum err err = check_dense(writer, id, number);
	if (err) return err;
	(void)cells_make_room(change->cells);
	if (!(change->account = cells_account_made(change->cells, id))) return ERR_NO_MEMORY;
	if (!(change->block = cells_block_made(change->cells, change->account, number))) return ERR_NO_MEMORY;
	cells_publish(change->account, number, change->block);
	change->cells->new_rows++;
	return OK;
}

static enum err put(struct view *writer, struct account_id id, uint32_t number, struct span row,
                    struct change *change)
{
	uint64_t words[HOT_WORDS];
	if (!hot_row_is_whole(row) || !hot_row_counts(row)[HOT_COUNT_USED]) return ERR_DAMAGED;
	enum err err = load(writer, id, number, &change->account, &change->block);
	if (err == ERR_NOT_FOUND) err = make_block(writer, id, number, change);
	if (err) return err;
	for (unsigned i = 0; i < HOT_PASSES; i++) {
		hot_row_words(row, i, words);
		change_cell(change, i, words);
	}
	change_counts(change, get_le64(hot_row_counts(row)));
	return OK;
}

/* All patches of one index. */
static enum err patch_index(struct change *change, const struct write *write, unsigned index)
{
	uint64_t words[HOT_WORDS] = {atomic_load_explicit(&change->block->counts, memory_order_relaxed)};
	uint8_t  counts[HOT_COUNTS];
	unsigned other;
	put_le64(counts, words[0]);
	if (index != HOT_HEAD && index >= counts[HOT_COUNT_USED]) return ERR_DAMAGED;
	if (index != HOT_HEAD) load_words(&change->block->cells[index], words);
	for (unsigned i = 0; i < write->patch_count; i++) {
		if (!hot_patch_index(&write->patches[i], &other)) return ERR_DAMAGED;
		if (other == index) hot_patch_words(&write->patches[i], words);
	}
	if (index != HOT_HEAD)
		change_cell(change, index, words);
	else
		change_counts(change, words[0]);
	return OK;
}

static enum err patch(struct view *writer, struct account_id id, uint32_t number, const struct write *write,
                      struct change *change)
{
	enum err err = load(writer, id, number, &change->account, &change->block);
	uint64_t done = 0; /* a bit an index */
	unsigned index;
	for (unsigned i = 0; i < write->patch_count && !err; i++) {
		if (!hot_patch_index(&write->patches[i], &index)) return ERR_DAMAGED;
		if (done >> index & 1) continue;
		done |= UINT64_C(1) << index;
		err = patch_index(change, write, index);
	}
	return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
}

enum err cells_apply(struct view *writer, const struct write *write)
{
	struct change     change = {.cells = writer->cells};
	struct account_id account;
	uint32_t          number;
	enum err          err = ERR_UNSUPPORTED;
	if (!split_key(write->key, &account, &number)) return ERR_DAMAGED;
	if (write->kind == WRITE_PUT) err = put(writer, account, number, write->value, &change);
	if (write->kind == WRITE_PATCH) err = patch(writer, account, number, write, &change);
	if (!err) cells_set_dirty(change.cells, change.account, number);
	return err;
}
