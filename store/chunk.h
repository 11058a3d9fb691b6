#pragma once
#include "schemas/ids.h"
#include "store/keys.h"
#include "store/view.h"

/* An order of an account's passes that can be gone through quickly: their numbers, up to CHUNK_PASSES a row, in rows
 * that follow each other. Key: account | a bound: every member's place (its key_id_order() or key_name()) is at or
 * behind it, and before the next row's. The first row's bound is empty. Value: numbers u32, little-endian.
 * Tables: ID_ORDER, NAME_ORDER. Errors: as view.h. */
enum { CHUNK_PASSES = 128, CHUNK_NOBODY = 0xffffffff };

struct chunk {
	enum table     table;
	struct row_key key;
	unsigned       count;
	uint32_t       numbers[CHUNK_PASSES + 1]; /* one too many for a moment: then it has to be parted */
};

/* The chunk that a member at `place` belongs into; an empty one where the account has none. A range read. */
must_check enum err chunk_at(struct view *view, enum table table, const struct row_key *place,
                             struct chunk *chunk);

/* Puts `number` behind member `before`, or to the front where that is not in this chunk. */
void chunk_insert(struct chunk *chunk, uint32_t before, uint32_t number);

/* Errors: ERR_DAMAGED: it is no member. */
must_check enum err chunk_remove(struct chunk *chunk, uint32_t number);

/* Does it hold one too many? Then the members from index chunk_middle() on are to go into a row of their own, whose
 * bound is the place of the first of them: chunk_part() takes them out. */
static inline bool chunk_is_over(const struct chunk *chunk)
{
	return chunk->count > CHUNK_PASSES;
}
unsigned     chunk_middle(const struct chunk *chunk, uint32_t added);
struct chunk chunk_part(struct chunk *chunk, unsigned middle, const struct row_key *bound);

/* Stages it; an empty one is removed, but the first. */
must_check enum err chunk_put(struct view *view, const struct chunk *chunk);

/* The members of a stored row, and whether it has the form of one. */
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
