/* Where cells lie: accounts by their id, blocks by their row, memory of blocks in large pages. The writer makes and grows
 * all of it; readers follow the pointers that it has published. What is replaced or dropped is retired, since a reader may
 * hold it. */
#include "store/cells_inside.h"

#include "schemas/bytes.h"
#include "schemas/limits.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>

enum { CHUNK_BYTES = 2 << 20, CHUNKS_A_SLAB = 8, CHUNKS_FIRST = 8, ACCOUNTS_FIRST = 64, WORD_BITS = 64 };
#define BLOCKS_A_CHUNK (CHUNK_BYTES / sizeof(struct block))

struct chunk {
	struct block blocks[BLOCKS_A_CHUNK];
};
_Static_assert(sizeof(struct chunk) <= CHUNK_BYTES, "a large page");

/* In the slot of an account that is gone, so that those behind it are still found. */
static struct cell_account gone;

static size_t table_bytes(uint32_t slots)
{
	return sizeof(struct account_table) + slots * sizeof(_Atomic(struct cell_account *));
}

static struct account_table *table_new(uint32_t slots)
{
	struct account_table *table = calloc(1, table_bytes(slots));
	if (table) table->mask = slots - 1;
	return table;
}

/* The slot that the account has, or would get; *found: the account, or NULL. A reader never loads the slot again: the writer
 * may put another account into a free one meanwhile. */
static uint32_t slot_of(const struct account_table *table, struct account_id id, struct cell_account **found)
{
	uint64_t hash = (get_le64(id.b) ^ get_le16(id.b + 8)) * UINT64_C(0x9e3779b97f4a7c15);
	for (uint32_t at = (uint32_t)(hash >> 32) & table->mask;; at = (at + 1) & table->mask) {
		*found = atomic_load_explicit(&table->slots[at], memory_order_acquire);
		if (!*found || (*found != &gone && !memcmp((*found)->id.b, id.b, sizeof id.b))) return at;
	}
}

struct cell_account *cells_account(const struct cells *cells, struct account_id id)
{
	const struct account_table *table = atomic_load_explicit(&cells->accounts, memory_order_acquire);
	struct cell_account        *found;
	(void)slot_of(table, id, &found);
	return found;
}

static enum err grow_lists(struct cells *cells)
{
	struct account_list *lists[] = {&cells->listed, &cells->round};
	uint32_t             room = cells->list_room ? 2 * cells->list_room : ACCOUNTS_FIRST;
	if (cells->account_count < cells->list_room) return OK;
	for (unsigned i = 0; i < 2; i++) {
		struct cell_account **grown = realloc(lists[i]->at, room * sizeof *grown);
		if (!grown) return ERR_NO_MEMORY;
		lists[i]->at = grown;
	}
	cells->list_room = room;
	return OK;
}

static enum err grow_table(struct cells *cells)
{
	struct account_table *table = atomic_load_explicit(&cells->accounts, memory_order_relaxed);
	uint32_t              slots = ACCOUNTS_FIRST;
	if (2 * (table->taken + 1) <= table->mask) return OK;
	while (slots <= 3 * (cells->account_count + 1))
		slots *= 2;
	struct account_table *fresh = table_new(slots);
	if (!fresh) return ERR_NO_MEMORY;
	for (uint32_t i = 0; i <= table->mask; i++) {
		struct cell_account *account = atomic_load_explicit(&table->slots[i], memory_order_relaxed);
		if (!account || account == &gone) continue;
		struct cell_account *none;
		uint32_t             at = slot_of(fresh, account->id, &none);
		atomic_store_explicit(&fresh->slots[at], account, memory_order_relaxed);
	}
	fresh->taken = cells->account_count;
	atomic_store_explicit(&cells->accounts, fresh, memory_order_release);
	cells->account_bytes += table_bytes(slots) - table_bytes(table->mask + 1);
	cells_retire(cells, &cells->retired_memory, &table->retired);
	return OK;
}

struct cell_account *cells_account_made(struct cells *cells, struct account_id id)
{
	struct cell_account *none, *account = cells_account(cells, id);
	if (account) return account;
	if (grow_lists(cells) || grow_table(cells) || !(account = calloc(1, sizeof *account))) return NULL;
	account->id = id;
	struct account_table *table = atomic_load_explicit(&cells->accounts, memory_order_relaxed);
	atomic_store_explicit(&table->slots[slot_of(table, id, &none)], account, memory_order_release);
	table->taken++;
	cells->account_count++;
	cells->account_bytes += sizeof *account;
	return account;
}

void cells_list(struct cells *cells, struct cell_account *account)
{
	if (account->is_listed) return;
	account->is_listed = true;
	cells->listed.at[cells->listed.count++] = account;
}

static size_t rows_bytes(uint32_t room)
{
	return sizeof(struct block_rows) + room * sizeof(_Atomic(struct block *));
}

/* With both sets of bits. */
static size_t room_bytes(uint32_t room)
{
	return room ? rows_bytes(room) + 2 * room / 8 : 0;
}

bool cells_account_drop(struct cells *cells, struct cell_account *account)
{
	struct account_table *table = atomic_load_explicit(&cells->accounts, memory_order_relaxed);
	struct block_rows    *rows = atomic_load_explicit(&account->rows, memory_order_relaxed);
	struct cell_account  *found;
	if (account->blocks || account->is_listed || account->is_in_round) return false;
	if (!tail_may_go(cells, &account->tail, cells_oldest(cells).commit)) return false;
	tail_drop(cells, &account->tail);
	atomic_store_explicit(&table->slots[slot_of(table, account->id, &found)], &gone,
	                      memory_order_release);
	cells->account_count--;
	cells->account_bytes -= sizeof *account + room_bytes(rows ? rows->room : 0);
	free(account->dirty);
	free(account->round);
	if (rows) cells_retire(cells, &cells->retired_memory, &rows->retired);
	cells_retire(cells, &cells->retired_memory, &account->retired);
	return true;
}

struct block *cells_block(const struct cell_account *account, uint32_t row)
{
	const struct block_rows *rows = account ? atomic_load_explicit(&account->rows, memory_order_acquire)
	                                        : NULL;
	if (!rows || row >= rows->room) return NULL;
	return atomic_load_explicit(&rows->at[row], memory_order_acquire);
}

static bool grow_bits(uint64_t **bits, uint32_t from, uint32_t to)
{
	uint64_t *grown = realloc(*bits, to / WORD_BITS * sizeof *grown);
	if (!grown) return false;
	memset(grown + from / WORD_BITS, 0, (to - from) / WORD_BITS * sizeof *grown);
	*bits = grown;
	return true;
}

static enum err grow_rows(struct cells *cells, struct cell_account *account, uint32_t row)
{
	struct block_rows *rows = atomic_load_explicit(&account->rows, memory_order_relaxed);
	uint32_t           before = rows ? rows->room : 0, room = before ? before : (uint32_t)WORD_BITS;
	if (row < before) return OK;
	while (room <= row)
		room *= 2;
	struct block_rows *larger = calloc(1, rows_bytes(room));
	if (!larger) return ERR_NO_MEMORY;
	if (!grow_bits(&account->dirty, before, room) || !grow_bits(&account->round, before, room)) {
		free(larger);
		return ERR_NO_MEMORY;
	}
	larger->room = room;
	for (uint32_t i = 0; i < before; i++)
		atomic_store_explicit(&larger->at[i],
		                      atomic_load_explicit(&rows->at[i], memory_order_relaxed),
		                      memory_order_relaxed);
	atomic_store_explicit(&account->rows, larger, memory_order_release);
	cells->account_bytes += room_bytes(room) - room_bytes(before);
	if (rows) cells_retire(cells, &cells->retired_memory, &rows->retired);
	return OK;
}

struct block *cells_block_at(const struct cells *cells, uint32_t place)
{
	return &cells->chunks[place / BLOCKS_A_CHUNK]->blocks[place % BLOCKS_A_CHUNK];
}

struct cell *cells_cell_at(const struct cells *cells, uint32_t number)
{
	return &cells_block_at(cells, number / HOT_PASSES)->cells[number % HOT_PASSES];
}

static const struct siphash *print_at(const void *user, uint32_t number)
{
	return &cells_cell_at(user, number)->print;
}

static enum err add_chunk(struct cells *cells)
{
	if (cells->chunk_count == cells->chunk_room) {
		uint32_t       room = cells->chunk_room ? 2 * cells->chunk_room : CHUNKS_FIRST;
		struct chunk **grown = realloc(cells->chunks, room * sizeof(struct chunk *));
		if (!grown) return ERR_NO_MEMORY;
		cells->chunks = grown;
		cells->chunk_room = room;
	}
	/* To align a piece the allocator takes a chunk more, which stays unused. */
	bool  is_first = cells->chunk_count % CHUNKS_A_SLAB == 0;
	char *chunk = is_first ? aligned_alloc(CHUNK_BYTES, (size_t)CHUNKS_A_SLAB * CHUNK_BYTES)
	                       : (char *)cells->chunks[cells->chunk_count - 1] + CHUNK_BYTES;
	if (!chunk) return ERR_NO_MEMORY;
	(void)!madvise(chunk, CHUNK_BYTES, MADV_HUGEPAGE);
	cells->chunks[cells->chunk_count++] = (struct chunk *)chunk;
	return OK;
}

/* One that was given back, or the next of the pool. */
static struct block *take_block(struct cells *cells)
{
	struct block *block = cells->free
	                          ? (struct block *)((char *)cells->free - offsetof(struct block, retired))
	                          : NULL;
	uint32_t      place = block ? block->place : cells->places;
	if (block) {
		cells->free = block->retired.next;
	} else {
		if (place == cells->chunk_count * BLOCKS_A_CHUNK && add_chunk(cells)) return NULL;
		block = cells_block_at(cells, place);
		cells->places++;
	}
	memset(block, 0, sizeof *block);
	block->place = place;
	cells->blocks++;
	return block;
}

struct block *cells_block_made(struct cells *cells, struct cell_account *account, uint32_t row)
{
	struct block *block = grow_rows(cells, account, row) ? NULL : take_block(cells);
	if (!block) return NULL;
	block->account = account;
	block->row = row;
	block->is_used = true;
	account->blocks++;
	return block;
}

void cells_publish(struct cell_account *account, uint32_t row, struct block *block)
{
	struct block_rows *rows = atomic_load_explicit(&account->rows, memory_order_relaxed);
	must(row < rows->room);
	atomic_store_explicit(&rows->at[row], block, memory_order_release);
}

enum err cells_open(struct cells **out)
{
	struct cells         *cells = calloc(1, sizeof *cells);
	struct account_table *table = cells ? table_new(ACCOUNTS_FIRST) : NULL;
	*out = cells;
	if (!table) return ERR_NO_MEMORY;
	atomic_store(&cells->accounts, table);
	tails_bound(cells, LATE_TAILS_BYTES_MAX);
	late_rows_bound(cells, LATE_ROWS_BYTES_MAX);
	atomic_store(&cells->epoch, 1);
	cells->account_bytes = table_bytes(ACCOUNTS_FIRST);
	id_index_open(&cells->ids, print_at, cells);
	if (getrandom(&cells->id_key, sizeof cells->id_key, 0) != sizeof cells->id_key) return ERR_IO;
	return undo_open(&cells->undo);
}

static void account_free(struct cell_account *account)
{
	if (!account || account == &gone) return;
	free(atomic_load(&account->rows));
	free(account->dirty);
	free(account->round);
	tail_close(&account->tail);
	free(account);
}

void cells_close(struct cells **cells_p)
{
	struct cells *cells = *cells_p;
	*cells_p = NULL;
	if (!cells) return;
	struct account_table *table = atomic_load(&cells->accounts);
	for (uint32_t i = 0; table && i <= table->mask; i++)
		account_free(atomic_load(&table->slots[i]));
	free(table);
	cells_reclaim(cells); /* no reader is left */
	for (uint32_t i = 0; i < cells->chunk_count; i += CHUNKS_A_SLAB)
		free(cells->chunks[i]);
	free(cells->chunks);
	id_index_close(&cells->ids);
	free(cells->listed.at);
	free(cells->round.at);
	tails_close(&cells->tails);
	late_rows_close(cells);
	undo_close(&cells->undo);
	free(cells);
}
