/* Memory of late rows, and how they are found. Clients choose keys, so the hash is one that they cannot know. */
#include "store/cells_inside.h"

#include <stdlib.h>

enum {
	PART_FIRST = 16,      /* slots */
	ROW_OVERHEAD = 112,   /* what slots, lists and the allocator take beside a row */
	STORED_OVERHEAD = 16, /* beside a row in LMDB: checksum, head, place in its page */
};

static struct late_row gone; /* in the slot of one that has left memory */

/* The index ----------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct cells *cells, enum table table, struct span key)
{
	return siphash(&cells->id_key, key).low ^ (uint64_t)table << 56;
}

static struct late_part **part_of(const struct late_rows *rows, uint64_t hash)
{
	return (struct late_part **)&rows->parts[hash % LATE_PARTS];
}

static uint32_t first_slot(const struct late_part *part, uint64_t hash)
{
	return (uint32_t)(hash / LATE_PARTS) & part->mask;
}

static struct late_slot *slot_of(struct late_part *part, uint64_t hash, enum table table, struct span key)
{
	if (!part) return NULL;
	for (uint32_t at = first_slot(part, hash); part->slots[at].row; at = (at + 1) & part->mask) {
		struct late_slot *slot = &part->slots[at];
		if (slot->hash == hash && slot->row != &gone && slot->row->table == table &&
		    span_equal(late_row_key(slot->row), key))
			return slot;
	}
	return NULL;
}

static void put_slot(struct late_part *part, struct late_slot slot)
{
	uint32_t at = first_slot(part, slot.hash);
	while (part->slots[at].row)
		at = (at + 1) & part->mask;
	part->slots[at] = slot;
	part->taken++;
	part->rows++;
}

/* With room for one more row: it is replaced before three quarters are taken. */
static struct late_part *part_with_room(struct late_rows *rows, uint64_t hash)
{
	struct late_part **at = part_of(rows, hash), *part = *at;
	uint32_t           room = PART_FIRST;
	if (part && 4 * (part->taken + 1) <= 3 * (part->mask + 1)) return part;
	while (part && room < 4 * part->rows)
		room *= 2;
	struct late_part *replaced = part;
	if (!(part = calloc(1, sizeof *part + room * sizeof(struct late_slot)))) return NULL;
	part->mask = room - 1;
	for (uint32_t i = 0; replaced && i <= replaced->mask; i++)
		if (replaced->slots[i].row && replaced->slots[i].row != &gone)
			put_slot(part, replaced->slots[i]);
	free(replaced);
	return *at = part;
}

/* Rows ---------------------------------------------------------------------------------------------------- */

static size_t value_bytes(const struct late_row *row)
{
	return row->value ? sizeof *row->value + row->value->size : 0;
}

static size_t row_bytes(const struct late_row *row)
{
	return sizeof *row + row->key_size + (size_t)ROW_OVERHEAD;
}

/* A page among others is half full after it was divided. */
static uint64_t row_growth(const struct late_row *row)
{
	return row->value ? 2 * ((uint64_t)row->key_size + row->value->size + STORED_OVERHEAD) : 0;
}

struct late_row *late_row(const struct cells *cells, enum table table, struct span key)
{
	uint64_t                hash = hash_of(cells, table, key);
	const struct late_slot *slot = slot_of(*part_of(&cells->rows, hash), hash, table, key);
	return slot ? slot->row : NULL;
}

struct late_row *late_row_made(struct cells *cells, enum table table, struct span key, bool *is_new)
{
	uint64_t                hash = hash_of(cells, table, key);
	const struct late_slot *slot = slot_of(*part_of(&cells->rows, hash), hash, table, key);
	*is_new = !slot;
	if (slot) return slot->row;
	struct late_part *part = part_with_room(&cells->rows, hash);
	struct late_row  *row = part ? calloc(1, sizeof *row + key.size) : NULL;
	if (!row) return NULL;
	row->hash = hash;
	row->table = (uint8_t)table;
	row->key_size = (uint16_t)key.size;
	memcpy(row->key, key.at, key.size);
	put_slot(part, (struct late_slot){hash, row});
	cells->rows.bytes += row_bytes(row);
	return row;
}

enum err late_row_set(struct cells *cells, struct late_row *row, const struct span *value)
{
	struct late_rows *rows = &cells->rows;
	rows->bytes -= value_bytes(row);
	rows->growth -= row_growth(row);
	if (!value || !row->value || row->value->size != value->size) {
		free(row->value);
		row->value = value ? malloc(sizeof *row->value + value->size) : NULL;
	}
	if (!row->value) return value ? ERR_NO_MEMORY : OK;
	row->value->size = (uint32_t)value->size;
	if (value->size) memcpy(row->value->bytes, value->at, value->size);
	rows->bytes += value_bytes(row);
	rows->growth += row_growth(row);
	return OK;
}

static void row_free(struct late_row *row)
{
	free(row->value);
	free(row);
}

void late_row_drop(struct cells *cells, struct late_row *row)
{
	struct late_rows *rows = &cells->rows;
	struct late_part *part = *part_of(rows, row->hash);
	slot_of(part, row->hash, row->table, late_row_key(row))->row = &gone;
	part->rows--;
	rows->bytes -= row_bytes(row) + value_bytes(row);
	rows->growth -= row_growth(row);
	row_free(row);
}

void late_rows_bound(struct cells *cells, uint64_t bytes)
{
	cells->rows.bytes_max = bytes;
}

static void free_rows(const struct late_places *places)
{
	for (uint32_t i = 0; i < places->count; i++)
		row_free(places->at[i].row);
	free(places->at);
}

void late_rows_close(struct cells *cells)
{
	free_rows(&cells->rows.dirty);
	free_rows(&cells->rows.waiting);
	for (unsigned i = 0; i < LATE_PARTS; i++)
		free(cells->rows.parts[i]);
}
