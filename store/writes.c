/* The list of staged writes. At most STAGED_WRITES_MAX rows: beyond that a handler is wrong, and must() says
 * so. Looking one up is a walk, which for the usual two or three rows is the fastest there is. */
#include "store/writes.h"

static enum err copy(struct writes *writes, struct span from, struct span *to)
{
	uint8_t *at = arena_take(writes->arena, from.size ? from.size : 1);
	if (!at) return ERR_NO_MEMORY;
	if (from.size) memcpy(at, from.at, from.size);
	*to = span_of(at, from.size);
	return OK;
}

static struct write *find(struct writes *writes, enum table table, struct span key)
{
	for (unsigned i = 0; i < writes->count; i++)
		if (writes->rows[i].table == table && span_equal(writes->rows[i].key, key))
			return &writes->rows[i];
	return NULL;
}

const struct write *writes_find(const struct writes *writes, enum table table, struct span key)
{
	for (unsigned i = 0; i < writes->count; i++)
		if (writes->rows[i].table == table && span_equal(writes->rows[i].key, key))
			return &writes->rows[i];
	return NULL;
}

/* The row's entry, made if it is not there yet. */
static enum err row(struct writes *writes, enum table table, struct span key, struct write **out)
{
	if (key.size == 0 || key.size > KEY_BYTES_MAX) return ERR_TOO_LARGE;
	if ((*out = find(writes, table, key))) return OK;
	must(writes->count < STAGED_WRITES_MAX);
	struct write *write = &writes->rows[writes->count];
	*write = (struct write){.table = table};
	enum err err = copy(writes, key, &write->key);
	if (err) return err;
	writes->count++;
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
