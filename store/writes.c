/* The list of staged writes, at most STAGED_WRITES_MAX rows: more are a handler's bug, caught by must(). A lookup is
 * a linear search, the fastest for the usual two or three rows; from WALK_MAX rows on a hash table stands beside the
 * list. Both are in the arena; a full one is replaced by one twice as large. */
#include "store/writes.h"

#include "schemas/crc32c.h"

enum { ROWS_FIRST = 16, WALK_MAX = 32 };
_Static_assert((int)STAGED_WRITES_MAX <= UINT16_MAX, "a row's number fits a slot");

static enum err copy(struct writes *writes, struct span from, struct span *to)
{
	uint8_t *at = arena_take(writes->arena, from.size ? from.size : 1);
	if (!at) return ERR_NO_MEMORY;
	if (from.size) memcpy(at, from.at, from.size);
	*to = span_of(at, from.size);
	return OK;
}

/* The slot that a row has, or would get: the table has twice as many slots as the list has room for rows. */
static uint16_t *slot_of(const struct writes *writes, enum table table, struct span key)
{
	unsigned mask = 2 * writes->room - 1, at = crc32c((uint32_t)table, key.at, key.size) & mask;
	for (;; at = (at + 1) & mask) {
		const struct write *row = writes->slots[at] ? &writes->rows[writes->slots[at] - 1] : NULL;
		if (!row || (row->table == table && span_equal(row->key, key))) return &writes->slots[at];
	}
}

static struct write *find(const struct writes *writes, enum table table, struct span key)
{
	if (writes->slots) {
		unsigned number = *slot_of(writes, table, key);
		return number ? &writes->rows[number - 1] : NULL;
	}
	for (unsigned i = 0; i < writes->count; i++)
		if (writes->rows[i].table == table && span_equal(writes->rows[i].key, key))
			return &writes->rows[i];
	return NULL;
}

const struct write *writes_find(const struct writes *writes, enum table table, struct span key)
{
	return find(writes, table, key);
}

static enum err grow(struct writes *writes)
{
	unsigned      room = writes->room ? 2 * writes->room : ROWS_FIRST;
	struct write *rows = arena_take(writes->arena, sizeof *rows * room);
	if (!rows) return ERR_NO_MEMORY;
	if (writes->count) memcpy(rows, writes->rows, sizeof *rows * writes->count);
	writes->rows = rows;
	writes->room = room;
	if (room <= WALK_MAX) return OK;
	writes->slots = arena_take(writes->arena, sizeof *writes->slots * 2 * room);
	if (!writes->slots) return ERR_NO_MEMORY;
	memset(writes->slots, 0, sizeof *writes->slots * 2 * room);
	for (unsigned i = 0; i < writes->count; i++)
		*slot_of(writes, rows[i].table, rows[i].key) = (uint16_t)(i + 1);
	return OK;
}

/* The row's entry, created if missing. */
static enum err row(struct writes *writes, enum table table, struct span key, struct write **out)
{
	if (key.size == 0 || key.size > KEY_BYTES_MAX) return ERR_TOO_LARGE;
	if ((*out = find(writes, table, key))) return OK;
	must(writes->count < STAGED_WRITES_MAX);
	enum err err = writes->count == writes->room ? grow(writes) : OK;
	if (err) return err;
	struct write *write = &writes->rows[writes->count];
	*write = (struct write){.table = table};
	if ((err = copy(writes, key, &write->key))) return err;
	writes->count++;
	writes->tables |= TABLE_BIT(table);
	if (writes->slots) *slot_of(writes, table, write->key) = (uint16_t)writes->count;
	*out = write;
	return OK;
}

static size_t size_max(enum table table)
{
	static const uint8_t kinds[TABLE_END] = {
#define T(id, NAME, name, kind) [id] = KIND_##kind,
#include "store/tables.def"
#undef T
	};
	return kinds[table] == KIND_PARTED ? (size_t)PASS_STORED_BYTES_MAX * 2 : (size_t)ROW_BYTES_MAX;
}

enum err write_put(struct writes *writes, enum table table, struct span key, struct span value)
{
	struct write *write;
	if (value.size > size_max(table)) return ERR_TOO_LARGE;
	enum err err = row(writes, table, key, &write);
	if (err) return err;
	write->kind = WRITE_PUT;
	write->patch_count = 0;
	return copy(writes, value, &write->value);
}

enum err write_del(struct writes *writes, enum table table, struct span key)
{
	struct write *write;
	enum err      err = row(writes, table, key, &write);
	if (err) return err;
	write->kind = WRITE_DEL;
	write->value = span_of(NULL, 0);
	write->patch_count = 0;
	return OK;
}

static struct patch *find_patch(const struct write *write, uint16_t offset, size_t size)
{
	for (unsigned i = 0; i < write->patch_count; i++)
		if (write->patches[i].offset == offset && write->patches[i].size == size)
			return &write->patches[i];
	return NULL;
}

enum err write_patch(struct writes *writes, enum table table, struct span key, uint16_t offset,
                     struct span bytes)
{
	struct write *write;
	enum err      err = row(writes, table, key, &write);
	if (err) return err;
	if (write->kind == WRITE_PUT) { /* the value is our own copy: patch it in place */
		must((size_t)offset + bytes.size <= write->value.size);
		memcpy((uint8_t *)(uintptr_t)write->value.at + offset, bytes.at, bytes.size);
		return OK;
	}
	must(write->kind != WRITE_DEL);
	write->kind = WRITE_PATCH;
	if (!write->patches &&
	    !(write->patches = arena_take(writes->arena, sizeof *write->patches * PATCHES_MAX)))
		return ERR_NO_MEMORY;
	struct patch *patch = find_patch(write, offset, bytes.size);
	if (!patch) {
		must(write->patch_count < PATCHES_MAX);
		patch = &write->patches[write->patch_count++];
	}
	struct span kept;
	if ((err = copy(writes, bytes, &kept))) return err;
	*patch = (struct patch){offset, (uint16_t)bytes.size, kept.at};
	return OK;
}

enum err write_over(const struct writes *writes, const struct write *write, struct span base,
                    struct span *value)
{
	if (write->kind == WRITE_PUT) {
		*value = write->value;
		return OK;
	}
	if (write->kind == WRITE_DEL || base.size == 0) return ERR_NOT_FOUND;
	uint8_t *at = arena_take(writes->arena, base.size);
	if (!at) return ERR_NO_MEMORY;
	memcpy(at, base.at, base.size);
	for (unsigned i = 0; i < write->patch_count; i++) {
		const struct patch *patch = &write->patches[i];
		must((size_t)patch->offset + patch->size <= base.size);
		memcpy(at + patch->offset, patch->bytes, patch->size);
	}
	*value = span_of(at, base.size);
	return OK;
}
