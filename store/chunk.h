#pragma once
#include "schemas/ids.h"
#include "store/keys.h"
#include "store/view.h"

/* An order of an account's passes for fast iteration: pass numbers, up to CHUNK_PASSES a row, in consecutive rows. Key:
 * account | bound. Each member's sort key (key_id_order() or key_name()) is at or behind the bound, and before the
 * bound of the next row. The first row's bound is empty. Value: numbers u32, little-endian.
 * Tables: ID_ORDER, NAME_ORDER. Errors: as view.h. */
enum { CHUNK_PASSES = 128, CHUNK_NOBODY = 0xffffffff };

struct chunk {
	enum table     table;
	struct row_key key;
	unsigned       count;
	uint32_t       numbers[CHUNK_PASSES + 1]; /* one too many is temporary: then the chunk is split */
};

/* The chunk that covers `place`; an empty one if the account has none. A range read. */
must_check enum err chunk_at(struct view *view, enum table table, const struct row_key *place,
                             struct chunk *chunk);

/* Inserts `number` behind member `before`, or at the front if `before` is not in this chunk. */
void chunk_insert(struct chunk *chunk, uint32_t before, uint32_t number);

/* Errors: ERR_DAMAGED: it is not a member. */
must_check enum err chunk_remove(struct chunk *chunk, uint32_t number);

/* Does the chunk hold one too many? Then the members from index chunk_middle() on go into a row of their own, whose
 * bound is the sort key of its first member. chunk_part() takes them out. */
static inline bool chunk_is_over(const struct chunk *chunk)
{
	return chunk->count > CHUNK_PASSES;
}
unsigned     chunk_middle(const struct chunk *chunk, uint32_t added);
struct chunk chunk_part(struct chunk *chunk, unsigned middle, const struct row_key *bound);

/* Stages the chunk; an empty one is removed unless it is the first. */
must_check enum err chunk_put(struct view *view, const struct chunk *chunk);

/* The members of a stored row, and whether it is well formed. */
static inline unsigned chunk_row_count(struct span value)
{
	return (unsigned)(value.size / 4);
}
static inline uint32_t chunk_row_number(struct span value, unsigned i)
{
	return get_le32(value.at + (size_t)4 * i);
}
static inline bool chunk_row_is_whole(struct span value)
{
	return value.size % 4 == 0 && value.size <= 4 * CHUNK_PASSES;
}
