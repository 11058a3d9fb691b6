/* Memory of late rows, and how they are found. Clients choose keys, so the hash is one that they cannot know. Readers follow the
 * pointers that the writer has published: a row's value is complete before it is one of them. */
#include "store/cells_inside.h"

#include <stddef.h>
#include <stdlib.h>

enum {
	PART_FIRST = 16,      /* slots */
	ROW_OVERHEAD = 112,   /* what slots, lists and the allocator take beside a row */
	STORED_OVERHEAD = 16, /* beside a row in LMDB: checksum, head, place in its page */
};
_Static_assert(offsetof(struct late_value, retired) == 0 && offsetof(struct late_row, retired) == 0 &&
                   offsetof(struct late_part, retired) == 0,
               "what is retired is freed by that address");

static struct late_row gone; /* in the slot of one that has left memory */

/* The index ----------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct cells *cells, enum table table, struct span key)
{
	return siphash(&cells->id_key, key).low ^ (uint64_t)table << 56;
}

static struct late_part *part_of(const struct late_rows *rows, uint64_t hash)
{
	return atomic_load_explicit(&rows->parts[hash % LATE_PARTS], memory_order_acquire);
}

static uint32_t first_slot(const struct late_part *part, uint64_t hash)
{
	return (uint32_t)(hash / LATE_PARTS) & part->mask;
}

static struct late_row *row_in(const struct late_slot *slot)
{
	return atomic_load_explicit(&slot->row, memory_order_acquire);
}

static struct late_slot *slot_of(struct late_part *part, uint64_t hash, enum table table, struct span key)
{
	const struct late_row *row;
	if (!part) return NULL;
	for (uint32_t at = first_slot(part, hash); (row = row_in(&part->slots[at]));
	     at = (at + 1) & part->mask) {
		struct late_slot *slot = &part->slots[at];
		if (slot->hash == hash && row != &gone && row->table == table &&
		    span_equal(late_row_key(row), key))
			return slot;
	}
	return NULL;
}

static void put_slot(struct late_part *part, uint64_t hash, struct late_row *row)
{
	uint32_t at = first_slot(part, hash);
	while (row_in(&part->slots[at]))
		at = (at + 1) & part->mask;
	part->slots[at].hash = hash;
	atomic_store_explicit(&part->slots[at].row, row, memory_order_release);
	part->taken++;
	part->rows++;
}

/* With room for one more row: it is replaced before three quarters are taken. */
static struct late_part *part_with_room(struct cells *cells, uint64_t hash)
{
	struct late_part *replaced = part_of(&cells->rows, hash), *part = replaced;
	uint32_t          room = PART_FIRST;
	if (part && 4 * (part->taken + 1) <= 3 * (part->mask + 1)) return part;
	while (part && room < 4 * part->rows)
		room *= 2;
	if (!(part = calloc(1, sizeof *part + room * sizeof(struct late_slot)))) return NULL;
	part->mask = room - 1;
	for (uint32_t i = 0; replaced && i <= replaced->mask; i++) {
		struct late_row *row = row_in(&replaced->slots[i]);
		if (row && row != &gone) put_slot(part, replaced->slots[i].hash, row);
	}
	atomic_store_explicit(&cells->rows.parts[hash % LATE_PARTS], part, memory_order_release);
	if (replaced) cells_retire(cells, &cells->retired_memory, &replaced->retired);
	return part;
}

/* Rows ---------------------------------------------------------------------------------------------------- */

uint64_t late_row_bytes(const struct late_row *row)
{
	const struct late_value *value = late_row_value(row);
	return sizeof *row + row->key_size + (uint64_t)ROW_OVERHEAD +
	       (value ? sizeof *value + value->size : 0);
}

/* A page among others is half full after it was divided. */
uint64_t late_row_growth(const struct late_row *row)
{
	const struct late_value *value = late_row_value(row);
	bool                     grows = value && !value->is_gone && !row->is_stored;
	return grows ? 2 * ((uint64_t)row->key_size + value->size + STORED_OVERHEAD) : 0;
}

struct late_row *late_row(const struct cells *cells, enum table table, struct span key)
{
	uint64_t                hash = hash_of(cells, table, key);
	const struct late_slot *slot = slot_of(part_of(&cells->rows, hash), hash, table, key);
	struct late_row        *row = slot ? row_in(slot) : NULL;
	return row == &gone ? NULL : row; /* it has just gone */
}

struct late_row *late_row_made(struct cells *cells, enum table table, struct span key)
{
	uint64_t         hash = hash_of(cells, table, key);
	struct late_row *row = late_row(cells, table, key);
	if (row) return row;
	struct late_part *part = part_with_room(cells, hash);
	if (!part || !(row = calloc(1, sizeof *row + key.size))) return NULL;
	row->hash = hash;
	row->table = (uint8_t)table;
	row->key_size = (uint16_t)key.size;
	memcpy(row->key, key.at, key.size);
	put_slot(part, hash, row);
	return row;
}

static struct late_value *value_new(struct late_row *row, uint64_t txn, const struct span *bytes)
{
	size_t             size = bytes ? bytes->size : 0;
	struct late_value *value = malloc(sizeof *value + size);
	if (!value) return NULL;
	*value = (struct late_value){.txn = txn, .row = row, .size = (uint32_t)size, .is_gone = !bytes};
	if (size) memcpy(value->bytes, bytes->at, size);
	return value;
}

static bool fits(const struct late_value *value, const struct span *bytes)
{
	return bytes && !value->is_gone && value->size == bytes->size;
}

static void queue(struct retired_list *list, struct retired *at, uint64_t commit)
{
	*at = (struct retired){.epoch = commit};
	if (list->last)
		list->last->next = at;
	else
		list->first = at;
	list->last = at;
}

/* What a row was before it was changed: views that are older than the commit to come need it, if one may be. */
static void put_away(struct cells *cells, struct late_value *before, uint64_t txn)
{
	if (!late_table_is_shared(before->row->table))
		free(before);
	else if (before->txn == txn)
		cells_retire(cells, &cells->retired_memory, &before->retired);
	else
		queue(&cells->rows.replaced, &before->retired, cells->commits + 1);
}

enum err late_row_set(struct cells *cells, struct late_row *row, uint64_t txn, const struct span *bytes)
{
	struct late_value *before = late_row_value(row), *after;
	bool               is_ours = before && (before->txn == txn || !late_table_is_shared(row->table));
	if (is_ours && fits(before, bytes)) { /* no view shows it yet */
		if (bytes->size) memcpy(before->bytes, bytes->at, bytes->size);
		return OK;
	}
	if (!(after = value_new(row, txn, bytes))) return ERR_NO_MEMORY;
	if (before && late_table_is_shared(row->table)) {
		struct late_value *older = atomic_load_explicit(&before->older, memory_order_relaxed);
		atomic_store_explicit(&after->older, is_ours ? older : before, memory_order_relaxed);
	}
	atomic_store_explicit(&row->value, after, memory_order_release);
	if (before) put_away(cells, before, txn);
	return OK;
}

/* Views -------------------------------------------------------------------------------------------------- */

static void row_free(struct late_row *row)
{
	struct late_value *value = late_row_value(row);
	while (value) {
		struct late_value *older = atomic_load_explicit(&value->older, memory_order_relaxed);
		free(value);
		value = older;
	}
	free(row);
}

void late_row_drop(struct cells *cells, struct late_row *row)
{
	struct late_part  *part = part_of(&cells->rows, row->hash);
	struct late_value *value = late_row_value(row);
	struct late_slot  *slot = slot_of(part, row->hash, row->table, late_row_key(row));
	atomic_store_explicit(&slot->row, &gone, memory_order_release);
	part->rows--;
	if (!late_table_is_shared(row->table)) {
		row_free(row);
		return;
	}
	must(value && !atomic_load_explicit(&value->older, memory_order_relaxed));
	cells_retire(cells, &cells->retired_memory, &value->retired);
	cells_retire(cells, &cells->retired_memory, &row->retired);
}

void late_row_keep(struct cells *cells, struct late_row *row)
{
	if (!row->is_queued) queue(&cells->rows.written, &row->retired, row->written);
	row->is_queued = true;
}

static void *take(struct retired_list *list)
{
	struct retired *first = list->first;
	if (!(list->first = first->next)) list->last = NULL;
	return first;
}

/* The value that came after it is what all views see, or a newer one. */
static void free_replaced(struct late_value *value)
{
	struct late_value *newer = late_row_value(value->row), *older;
	while ((older = atomic_load_explicit(&newer->older, memory_order_relaxed)) != value)
		newer = older;
	atomic_store_explicit(&newer->older, NULL, memory_order_relaxed);
	free(value);
}

/* One that has changed since goes later. */
static void let_go(struct cells *cells, struct late_row *row, uint64_t commit)
{
	row->is_queued = false;
	if (row->is_listed) return;
	if (row->written <= commit)
		late_row_drop(cells, row);
	else
		late_row_keep(cells, row);
}

void late_rows_trim(struct cells *cells)
{
	struct late_rows *rows = &cells->rows;
	if (!rows->replaced.first && !rows->written.first) return;
	uint64_t commit = cells_oldest(cells).commit;
	if (commit > cells->commits) commit = cells->commits;
#ifdef FAULT_LATE_ROW_GOES
	commit = cells->commits; /* the fault: views under way may be older */
#endif
	while (rows->replaced.first && rows->replaced.first->epoch <= commit)
		free_replaced(take(&rows->replaced));
	while (rows->written.first && rows->written.first->epoch <= commit)
		let_go(cells, take(&rows->written), commit);
	cells_reclaim(cells);
}

void late_rows_bound(struct cells *cells, uint64_t bytes)
{
	cells->rows.bytes_max = bytes;
}

void late_rows_close(struct cells *cells)
{
	for (unsigned i = 0; i < LATE_PARTS; i++) {
		struct late_part *part = atomic_load(&cells->rows.parts[i]);
		for (uint32_t k = 0; part && k <= part->mask; k++) {
			struct late_row *row = row_in(&part->slots[k]);
			if (row && row != &gone) row_free(row);
		}
		free(part);
	}
	free(cells->rows.dirty.at);
	free(cells->rows.waiting.at);
}
