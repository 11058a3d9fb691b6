/* The cache of lists: a short array, most recently used first, that readers share. It holds columns and texts.
 *
 * The store knows in which transaction each row was last written (view_row_moments()), so a reader updates only rows that
 * changed. Columns are as a whole of one moment. Reading all of HOT verifies a checksum a row and touches a page of memory
 * for every two rows. So only the first list reads all rows, as a stream; later ones read rows written since from the cells.
 * Each row of texts has a moment of its own. A kept row is right in a view if it was read in that view or an earlier one and
 * was not written since. A reader with an older view leaves it unchanged. */
#include "actors/shard/list/cache.h"

#include "store/keys.h"
#include "store/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)TRIGRAM_ROWS % (int)VIEW_ROWS == 0, "row_txns are read by words");

struct list_cache {
	size_t            bytes_max;
	pthread_mutex_t   mutex;
	unsigned          count;
	struct list_kept *items[LIST_CACHE_MAX + 1]; /* one too many for a moment */
};

/* Memory -------------------------------------------------------------------------------------------------- */

static uint32_t blocks_of(uint32_t rows)
{
	return rows / TRIGRAM_ROWS + (rows % TRIGRAM_ROWS != 0);
}

static void drop_columns(struct columns *columns)
{
	free(columns->of.updated);
	free(columns->of.balance);
	free(columns->of.template);
	free(columns->oldest);
	free(columns->newest);
	free(columns);
}

static void drop_texts(struct kept_texts *texts)
{
	for (uint32_t row = 0; row < texts->rows; row++)
		free(texts->list[row].copy);
	for (uint32_t block = 0; block < blocks_of(texts->rows); block++)
		free(texts->blocks[block]);
	free(texts->list);
	free(texts->blocks);
	free(texts);
}

/* The head is the first member of both. */
static void drop(struct list_kept *kept)
{
	if (kept->table == TABLE_HOT)
		drop_columns((struct columns *)kept);
	else
		drop_texts((struct kept_texts *)kept);
}

enum err list_cache_new(struct list_cache **out, size_t bytes_max)
{
	struct list_cache *cache = calloc(1, sizeof *cache);
	if (!(*out = cache)) return ERR_NO_MEMORY;
	cache->bytes_max = bytes_max;
	pthread_mutex_init(&cache->mutex, NULL);
	return OK;
}

void list_cache_free(struct list_cache **cache_p)
{
	struct list_cache *cache = *cache_p;
	*cache_p = NULL;
	if (!cache) return;
	while (cache->count)
		drop(cache->items[--cache->count]);
	pthread_mutex_destroy(&cache->mutex);
	free(cache);
}

/* Keeping ------------------------------------------------------------------------------------------------- */

static struct list_kept *find(struct list_cache *cache, enum table table, struct account_id account)
{
	struct list_kept *found = NULL;
	unsigned          i = 0;
	if (!cache) return NULL;
	pthread_mutex_lock(&cache->mutex);
	while (i < cache->count &&
	       (cache->items[i]->table != table || !account_same(cache->items[i]->account, account)))
		i++;
	if (i < cache->count) {
		found = cache->items[i];
		cache->count--;
		memmove(&cache->items[i], &cache->items[i + 1], (cache->count - i) * sizeof *cache->items);
	}
	pthread_mutex_unlock(&cache->mutex);
	return found;
}

static void give(struct list_cache *cache, struct list_kept *item)
{
	struct list_kept *out[LIST_CACHE_MAX + 1];
	unsigned          out_count = 0;
	size_t            bytes = 0;
	if (!cache || item->bytes > cache->bytes_max) {
		drop(item); /* it would displace all others, and then be dropped too */
		return;
	}
	pthread_mutex_lock(&cache->mutex);
	memmove(&cache->items[1], &cache->items[0], cache->count * sizeof *cache->items);
	cache->items[0] = item;
	cache->count++;
	for (unsigned i = 0; i < cache->count; i++)
		bytes += cache->items[i]->bytes;
	while (cache->count > LIST_CACHE_MAX || bytes > cache->bytes_max) {
		out[out_count] = cache->items[--cache->count];
		bytes -= out[out_count++]->bytes;
	}
	pthread_mutex_unlock(&cache->mutex);
	while (out_count)
		drop(out[--out_count]);
}

/* The table's item, unless it is of a later moment (0: its rows have their own). Otherwise a new one, zeroed except for its
 * head. NULL: no memory. */
static struct list_kept *take(struct list_cache *cache, enum table table, struct account_id account,
                              uint64_t moment)
{
	struct list_kept *item = find(cache, table, account);
	if (item && item->moment <= moment) return item;
	if (item) give(cache, item); /* useful to others, whose views are newer */
	item = calloc(1, table == TABLE_HOT ? sizeof(struct columns) : sizeof(struct kept_texts));
	if (item) *item = (struct list_kept){.account = account, .table = table};
	return item;
}

/* Columns of passes --------------------------------------------------------------------------------------- */

static size_t bytes_of(size_t room)
{
	size_t one = 2 * sizeof(int64_t) + sizeof(uint16_t);
	return room * one + room / COLUMN_WORD * 2 * sizeof(int64_t);
}

static bool grow(void *column, size_t count, size_t size)
{
	void *grown, *old;
	memcpy(&old, column, sizeof old);
	if ((grown = realloc(old, count * size))) memcpy(column, &grown, sizeof grown);
	return grown != NULL;
}

/* Makes room for `made` passes and some more. If memory runs out on the way, the values so far stay. */
static enum err columns_room(struct columns *columns, uint32_t made)
{
	size_t room = (made + made / 64 + (size_t)2 * COLUMN_WORD) / COLUMN_WORD * COLUMN_WORD;
	if (made <= columns->room) return OK;
	if (!grow(&columns->of.updated, room, sizeof *columns->of.updated) ||
	    !grow(&columns->of.balance, room, sizeof *columns->of.balance) ||
	    !grow(&columns->of.template, room, sizeof *columns->of.template) ||
	    !grow(&columns->oldest, room / COLUMN_WORD, sizeof *columns->oldest) ||
	    !grow(&columns->newest, room / COLUMN_WORD, sizeof *columns->newest))
		return ERR_NO_MEMORY;
	columns->room = (uint32_t)room;
	columns->kept.bytes = bytes_of(room);
	return OK;
}

static void bound_word(struct columns *columns, uint32_t word)
{
	uint32_t       first = word * COLUMN_WORD, left = columns->made - first;
	const int64_t *updated = columns->of.updated + first;
	int64_t        oldest = INT64_MAX, newest = INT64_MIN;
	for (uint32_t i = 0; i < COLUMN_WORD && i < left; i++) {
		oldest = updated[i] < oldest ? updated[i] : oldest;
		newest = updated[i] > newest ? updated[i] : newest;
	}
	columns->oldest[word] = oldest;
	columns->newest[word] = newest;
}

/* Computes the bounds of the words that contain rows `from` to `to` - 1. */
static void bound_rows(struct columns *columns, uint32_t from, uint32_t to)
{
	uint64_t end = (uint64_t)to * HOT_PASSES < columns->made ? (uint64_t)to * HOT_PASSES : columns->made;
	if (from >= to) return;
	for (uint32_t word = from * HOT_PASSES / COLUMN_WORD; word * (uint64_t)COLUMN_WORD < end; word++)
		bound_word(columns, word);
}

/* Where the columns of a row begin. */
static struct hot_columns place_of(const struct columns *columns, uint32_t number)
{
	size_t first = (size_t)number * HOT_PASSES;
	return (struct hot_columns){.updated = columns->of.updated + first,
	                            .balance = columns->of.balance + first,
	                            .template = columns->of.template + first};
}

static unsigned used_of(const struct columns *columns, uint32_t number)
{
	uint32_t left = columns->made - number * HOT_PASSES;
	return left < HOT_PASSES ? left : (unsigned)HOT_PASSES;
}

static enum err take_row(struct columns *columns, struct span row, uint32_t number)
{
	struct hot_columns at = place_of(columns, number);
	if (!hot_row_is_whole(row) || hot_row_counts(row)[HOT_COUNT_USED] != used_of(columns, number))
		return ERR_DAMAGED;
	hot_row_columns(row, &at);
	return OK;
}

/* Reads rows `from` to `to` - 1 from the table. */
static enum err take_stored(struct columns *columns, struct view *view, uint32_t from, uint32_t to)
{
	enum { ROWS = 32 };
	struct row_key  key = key_u32(columns->kept.account, from);
	struct stream   stream = stream_from(view, TABLE_HOT, &key);
	struct view_row rows[ROWS];
	unsigned        count;
	uint32_t        number = from;
	while (number < to) {
		enum err err = stream_next(&stream, rows, to - number < ROWS ? to - number : ROWS, &count);
		if (err || count == 0) return err ? err : ERR_DAMAGED;
		for (unsigned i = 0; i < count; i++, number++) {
			key = key_u32(columns->kept.account, number);
			if (!span_equal(rows[i].key, key_span(&key))) return ERR_DAMAGED;
			if ((err = take_row(columns, rows[i].value, number))) return err;
		}
	}
	return OK;
}

static enum err take_one(struct columns *columns, struct view *view, uint32_t number)
{
	struct hot_columns at = place_of(columns, number);
	unsigned           used, wanted = used_of(columns, number);
	enum err           err = hot_columns(view, columns->kept.account, number, &at, &used);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	return used == wanted ? OK : ERR_DAMAGED;
}

/* Reads all rows. Most are not in memory. */
static enum err read_first(struct columns *columns, struct view *view, uint32_t rows)
{
	struct account_id account = columns->kept.account;
	enum err          err = OK;
	for (uint32_t row = 0, end; row < rows && !err; row = end) {
		for (end = row; end < rows && !hot_is_in_memory(view, account, end);)
			end++;
		bool is_long = end - row > 1;
		if (!is_long) end = row + 1;
		err = is_long ? take_stored(columns, view, row, end) : take_one(columns, view, row);
	}
	if (!err) bound_rows(columns, 0, rows);
	return err;
}

/* Reads the rows that are new or were written since. Most are in memory. */
static enum err read_again(struct columns *columns, struct view *view, uint32_t rows, uint32_t whole)
{
	uint64_t row_txns[VIEW_ROWS];
	uint32_t from = 0; /* rows from here on were read, and have no bounds yet */
	enum err err = OK;
	for (uint32_t row = 0; row < rows && !err; row++) {
		if (row % VIEW_ROWS == 0)
			view_row_moments(view, TABLE_HOT, columns->kept.account, row / VIEW_ROWS, row_txns);
		bool is_known = row < whole && row_txns[row % VIEW_ROWS] <= columns->kept.moment;
		if (is_known) {
			bound_rows(columns, from, row);
			from = row + 1;
		} else {
			err = take_one(columns, view, row);
		}
	}
	if (!err) bound_rows(columns, from, rows);
	return err;
}

static enum err bring_up(struct columns *columns, struct view *view, uint32_t made)
{
	uint32_t rows = (made + HOT_PASSES - 1) / HOT_PASSES, whole = columns->made / HOT_PASSES;
	columns->made = made;
	return whole ? read_again(columns, view, rows, whole) : read_first(columns, view, rows);
}

enum err columns_take(struct list_cache *cache, struct view *view, struct account_id account, uint32_t made,
                      struct columns **out)
{
	uint64_t        moment = view_txn(view);
	struct columns *columns = (struct columns *)take(cache, TABLE_HOT, account, moment);
	enum err        err = OK;
	*out = NULL;
	if (!columns) return ERR_NO_MEMORY;
	err = made < columns->made ? ERR_DAMAGED : columns_room(columns, made);
	if (!err) err = bring_up(columns, view, made);
	columns->kept.moment = moment;
	if (err)
		drop_columns(columns);
	else
		*out = columns;
	return err;
}

void columns_give(struct list_cache *cache, struct columns **columns_p)
{
	struct columns *columns = *columns_p;
	*columns_p = NULL;
	if (columns) give(columns->made < COLUMNS_PASSES_MIN ? NULL : cache, &columns->kept);
}

/* Texts --------------------------------------------------------------------------------------------------- */

static unsigned bit_of(const uint8_t *at)
{
	uint32_t three = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
	return (three * 0x9e3779b1u) >> 21;
}
_Static_assert((int)TRIGRAM_BITS == 1 << (32 - 21) && (int)TRIGRAM_BYTES == 3,
               "bit_of() yields TRIGRAM_BITS values");

/* Memory of `texts` with this number of blocks, without copies. */
static size_t bytes_with(const struct kept_texts *texts, size_t blocks)
{
	return texts->rows * sizeof *texts->list + blocks_of(texts->rows) * sizeof *texts->blocks +
	       blocks * sizeof **texts->blocks;
}

static void count_bytes(struct kept_texts *texts)
{
	texts->kept.bytes = bytes_with(texts, texts->blocks_made) + texts->copies_size;
}

/* New rows are unknown. */
static enum err texts_room(struct kept_texts *texts, uint32_t rows)
{
	if (rows <= texts->rows) return OK;
	struct trigram_block **blocks = realloc(texts->blocks,
	                                        blocks_of(rows) * sizeof(struct trigram_block *));
	if (!blocks) return ERR_NO_MEMORY;
	texts->blocks = blocks;
	for (uint32_t block = blocks_of(texts->rows); block < blocks_of(rows); block++)
		blocks[block] = NULL;
	struct kept_row *list = realloc(texts->list, rows * sizeof *list);
	if (!list) return ERR_NO_MEMORY;
	for (uint32_t row = texts->rows; row < rows; row++)
		list[row] = (struct kept_row){.moment = 0};
	texts->list = list;
	texts->rows = rows;
	count_bytes(texts);
	return OK;
}

enum err kept_texts_take(struct list_cache *cache, enum table table, struct account_id account, uint32_t rows,
                         struct kept_texts **out)
{
	struct kept_texts *texts = (struct kept_texts *)take(cache, table, account, 0);
	*out = NULL;
	if (!texts) return ERR_NO_MEMORY;
	texts->bytes_max = cache ? cache->bytes_max : SIZE_MAX;
	enum err err = texts_room(texts, rows);
	if (err)
		drop_texts(texts);
	else
		*out = texts;
	return err;
}

void kept_texts_give(struct list_cache *cache, struct kept_texts **texts_p)
{
	struct kept_texts *texts = *texts_p;
	*texts_p = NULL;
	if (texts) give(texts->rows < TEXTS_ROWS_MIN ? NULL : cache, &texts->kept);
}

/* For rows 64 * word and following: which are known, and which of those are marked. */
static uint64_t known(const struct kept_texts *texts, struct view *view, uint32_t word, uint64_t *marked)
{
	uint64_t row_txns[VIEW_ROWS], now = view_txn(view), found = 0;
	uint32_t first = word * VIEW_ROWS;
	*marked = 0;
	if (first >= texts->rows) return 0;
	view_row_moments(view, texts->kept.table, texts->kept.account, word, row_txns);
	for (uint32_t i = 0; i < VIEW_ROWS && first + i < texts->rows; i++) {
		const struct kept_row *one = &texts->list[first + i];
		bool is_known = one->moment && one->moment <= now && row_txns[i] <= one->moment;
		found |= (uint64_t)is_known << i;
		*marked |= (uint64_t)(is_known && one->is_marked) << i;
	}
	return found;
}

/* The rows of a block in which all bits of q are set. */
static void have(const struct trigram_block *block, struct span q, uint64_t found[TRIGRAM_ROWS / 64])
{
	for (size_t i = 0; i + TRIGRAM_BYTES <= q.size; i++) {
		const uint64_t *bits = block->bits[bit_of(q.at + i)];
		for (unsigned word = 0; word < TRIGRAM_ROWS / 64; word++)
			found[word] &= bits[word];
	}
}

void kept_texts_look(const struct kept_texts *texts, struct view *view, uint32_t block, struct span q,
                     struct kept_look *look)
{
	enum { WORDS = TRIGRAM_ROWS / 64 };
	uint64_t marked[WORDS];
	for (uint32_t word = 0; word < WORDS; word++)
		look->known[word] = known(texts, view, block * WORDS + word, &marked[word]);
	memset(look->may, 0xff, sizeof look->may);
	if (!texts->blocks[block]) return;
	have(texts->blocks[block], q, look->may);
	for (uint32_t word = 0; word < WORDS; word++)
		look->may[word] |= ~marked[word];
}

struct span kept_texts_copy(const struct kept_texts *texts, uint32_t row)
{
	return span_of(texts->list[row].copy, texts->list[row].copy_size);
}

/* No copy if there is no memory: then the row is read again. */
static void copy_row(struct kept_texts *texts, struct kept_row *one, struct span value)
{
	texts->copies_size -= one->copy_size;
	size_t size = texts->copies_size + value.size;
	bool   fits = value.size && size <= TEXT_COPIES_MAX &&
	            bytes_with(texts, blocks_of(texts->rows)) + size <= texts->bytes_max;
	uint8_t *copy = fits ? realloc(one->copy, value.size) : NULL;
	if (copy)
		memcpy(copy, value.at, value.size);
	else
		free(one->copy);
	one->copy = copy;
	one->copy_size = copy ? (uint32_t)value.size : 0;
	texts->copies_size += one->copy_size;
	count_bytes(texts);
}

bool kept_texts_note(struct kept_texts *texts, struct view *view, uint32_t row, struct span value)
{
	struct kept_row *one = &texts->list[row];
	uint64_t         moment = view_txn(view);
	if (one->moment > moment) return false;
	copy_row(texts, one, value);
	one->is_marked = false;
	one->moment = moment;
	return true;
}

/* The block of a row, with the row's bits cleared; NULL: no memory. */
static struct trigram_block *clear_row(struct kept_texts *texts, uint32_t row)
{
	struct trigram_block **block = &texts->blocks[row / TRIGRAM_ROWS];
	uint64_t               others = ~(UINT64_C(1) << row % 64);
	if (!*block) {
		if (!(*block = aligned_alloc(TRIGRAM_ROWS / 8, sizeof **block))) return NULL;
		memset(*block, 0, sizeof **block);
		texts->blocks_made++;
		count_bytes(texts);
	}
	for (unsigned bit = 0; texts->list[row].is_used && bit < TRIGRAM_BITS; bit++)
		(*block)->bits[bit][row % TRIGRAM_ROWS / 64] &= others;
	return *block;
}

void kept_texts_mark(struct kept_texts *texts, uint32_t row, const struct text_row *of)
{
	struct kept_row      *one = &texts->list[row];
	struct span           all = of->all;
	struct trigram_block *block = one->is_marked || of->elsewhere ? NULL : clear_row(texts, row);
	if (!block) return;
	for (size_t i = 0; i + TRIGRAM_BYTES <= all.size; i++)
		block->bits[bit_of(all.at + i)][row % TRIGRAM_ROWS / 64] |= UINT64_C(1) << row % 64;
	one->is_marked = one->is_used = true;
}
