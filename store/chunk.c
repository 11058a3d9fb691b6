/* Chunks of an order. A chunk has no ids or names, so it cannot find a new member's position: the caller knows the
 * predecessor. */
#include "store/chunk.h"

enum err chunk_at(struct view *view, enum table table, const struct row_key *place, struct chunk *chunk)
{
	struct row_key  behind = *place;
	size_t          prefix = sizeof(struct account_id);
	struct view_row row;
	*chunk = (struct chunk){.table = table, .key = {.size = prefix}};
	memcpy(chunk->key.bytes, place->bytes, prefix);
	behind.bytes[behind.size++] = 0; /* the smallest key behind the place */
	enum err err = view_before(view, table, key_span(&behind), &row);
	if (err == ERR_NOT_FOUND || (!err && !key_has_prefix(row.key, key_span(&chunk->key)))) return OK;
	if (err) return err;
	if (!chunk_row_is_whole(row.value) || row.key.size > sizeof chunk->key.bytes) return ERR_DAMAGED;
	memcpy(chunk->key.bytes, row.key.at, row.key.size);
	chunk->key.size = row.key.size;
	chunk->count = chunk_row_count(row.value);
	for (unsigned i = 0; i < chunk->count; i++)
		chunk->numbers[i] = chunk_row_number(row.value, i);
	return OK;
}

/* The index of a member; `count` if absent. */
static unsigned find(const struct chunk *chunk, uint32_t number)
{
	unsigned i = 0;
	while (i < chunk->count && chunk->numbers[i] != number)
		i++;
	return i;
}

void chunk_insert(struct chunk *chunk, uint32_t before, uint32_t number)
{
	unsigned at = find(chunk, before);
	at = at < chunk->count ? at + 1 : 0;
	must(chunk->count <= CHUNK_PASSES);
	memmove(chunk->numbers + at + 1, chunk->numbers + at, (chunk->count - at) * sizeof *chunk->numbers);
	chunk->numbers[at] = number;
	chunk->count++;
}

enum err chunk_remove(struct chunk *chunk, uint32_t number)
{
	unsigned at = find(chunk, number);
	if (at == chunk->count) return ERR_DAMAGED;
	chunk->count--;
	memmove(chunk->numbers + at, chunk->numbers + at + 1, (chunk->count - at) * sizeof *chunk->numbers);
	return OK;
}

/* In the middle; but members inserted in ascending order leave full rows behind. */
unsigned chunk_middle(const struct chunk *chunk, uint32_t added)
{
	return chunk->numbers[chunk->count - 1] == added ? chunk->count - 1 : chunk->count / 2;
}

struct chunk chunk_part(struct chunk *chunk, unsigned middle, const struct row_key *bound)
{
	struct chunk rest = {.table = chunk->table, .key = *bound, .count = chunk->count - middle};
	memcpy(rest.numbers, chunk->numbers + middle, rest.count * sizeof *rest.numbers);
	chunk->count = middle;
	return rest;
}

enum err chunk_put(struct view *view, const struct chunk *chunk)
{
	uint8_t bytes[4 * CHUNK_PASSES];
	if (chunk->count == 0 && chunk->key.size > sizeof(struct account_id))
		return view_del(view, chunk->table, &chunk->key);
	for (unsigned i = 0; i < chunk->count; i++)
		put_le32(bytes + (size_t)4 * i, chunk->numbers[i]);
	return view_put(view, chunk->table, &chunk->key, span_of(bytes, (size_t)4 * chunk->count));
}
