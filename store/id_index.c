/* Linear hashing: buckets of 16 slots, one cache line each. When there are more than six ids a bucket, the next bucket in
 * turn is split in two, so an id that is put costs at most one line more and no call ever rehashes everything.
 * Buckets lie in segments of a large page. */
#include "store/id_index.h"

#include "schemas/err.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	SLOTS = 16,
	/* Ids of a bucket on average, at which the next one is split. One that is not split yet has twice as many. */
	SPLIT_IDS = 6,
	SEGMENT_BYTES = 2 << 20,
	SEGMENTS_A_SLAB = 8,
	BUCKETS_A_SEGMENT = SEGMENT_BYTES / (SLOTS * 4),
	BUCKETS_FIRST = 64,
	CELL_BITS = 26,
};
#define BUCKETS_MAX ((uint32_t)ID_INDEX_SEGMENTS * BUCKETS_A_SEGMENT)
_Static_assert(1 << CELL_BITS == ID_INDEX_CELLS, "the rest of a slot is the tag");

struct bucket {
	_Alignas(64) uint32_t slots[SLOTS]; /* tag | cell; 0: free */
};

struct id_segment {
	struct bucket buckets[BUCKETS_A_SEGMENT];
};
_Static_assert(sizeof(struct id_segment) == SEGMENT_BYTES, "a large page");

void id_index_open(struct id_index *index, const struct siphash *(*of)(const void *user, uint32_t cell),
                   const void      *user)
{
	*index = (struct id_index){.of = of, .user = user};
}

void id_index_close(struct id_index *index)
{
	for (uint32_t i = 0; i < index->segment_count; i += SEGMENTS_A_SLAB)
		free(index->segments[i]);
	*index = (struct id_index){.of = index->of, .user = index->user};
}

size_t id_index_bytes(const struct id_index *index)
{
	return (size_t)index->segment_count * SEGMENT_BYTES;
}

static struct bucket *bucket_at(const struct id_index *index, uint32_t number)
{
	return &index->segments[number / BUCKETS_A_SEGMENT]->buckets[number % BUCKETS_A_SEGMENT];
}

/* The largest power of two that is at most `buckets`. */
static uint32_t level_of(uint32_t buckets)
{
	return UINT32_C(1) << (31 - __builtin_clz(buckets));
}

static uint32_t number_of(const struct id_index *index, struct siphash print)
{
	uint32_t level = level_of(index->buckets), number = (uint32_t)print.low & (2 * level - 1);
	return number < index->buckets ? number : number & (level - 1);
}

/* Never 0, so that a free slot has no tag of an id. */
static uint32_t tag_of(struct siphash print)
{
	uint32_t tag = (uint32_t)(print.high >> (32 + CELL_BITS));
	return tag ? tag : 1;
}

/* The slot that the id has; NULL: none. All slots are compared first, without a branch. */
static uint32_t *slot_of(const struct id_index *index, struct siphash print)
{
	if (!index->buckets) return NULL;
	struct bucket *bucket = bucket_at(index, number_of(index, print));
	uint32_t       tag = tag_of(print), equal = 0;
	for (unsigned i = 0; i < SLOTS; i++)
		equal |= (uint32_t)(bucket->slots[i] >> CELL_BITS == tag) << i;
	for (; equal; equal &= equal - 1) {
		uint32_t             *slot = &bucket->slots[__builtin_ctz(equal)];
		const struct siphash *has = index->of(index->user, *slot % ID_INDEX_CELLS);
		if (has->low == print.low && has->high == print.high) return slot;
	}
	return NULL;
}

bool id_index_find(const struct id_index *index, struct siphash print, uint32_t *cell)
{
	const uint32_t *slot = slot_of(index, print);
	if (slot) *cell = *slot % ID_INDEX_CELLS;
	return slot != NULL;
}

/* Room for bucket `number`. False: there is no memory. */
static bool reach(struct id_index *index, uint32_t number)
{
	if (number < index->segment_count * (uint32_t)BUCKETS_A_SEGMENT) return true;
	/* To align a piece the allocator takes a segment more, which stays unused. */
	bool               is_first = index->segment_count % SEGMENTS_A_SLAB == 0;
	struct id_segment *segment = is_first ? aligned_alloc(SEGMENT_BYTES,
	                                                      (size_t)SEGMENTS_A_SLAB * SEGMENT_BYTES)
	                                      : index->segments[index->segment_count - 1] + 1;
	if (!segment) return false;
	(void)!madvise(segment, SEGMENT_BYTES, MADV_HUGEPAGE);
	memset(segment, 0, sizeof *segment);
	index->segments[index->segment_count++] = segment;
	return true;
}

/* Ids of the bucket that belong to the new one move there. Without room it stays as it is: more ids then share a bucket. */
static void split(struct id_index *index)
{
	uint32_t new = index->buckets;
	if (new == BUCKETS_MAX || !reach(index, new)) return;
	struct bucket *from = bucket_at(index, new - level_of(new)), *to = bucket_at(index, new);
	index->buckets++;
	for (unsigned i = 0; i < SLOTS; i++) {
		if (!from->slots[i]) continue;
		if (number_of(index, *index->of(index->user, from->slots[i] % ID_INDEX_CELLS)) != new)
			continue;
		to->slots[i] = from->slots[i];
		from->slots[i] = 0;
	}
}

static uint32_t *free_slot(struct bucket *bucket)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (!bucket->slots[i]) return &bucket->slots[i];
	return NULL;
}

bool id_index_put(struct id_index *index, struct siphash print, uint32_t cell, uint32_t *other)
{
	*other = cell;
	if (cell >= ID_INDEX_CELLS) return true;
	if (!index->buckets) {
		if (!reach(index, 0)) return true;
		index->buckets = BUCKETS_FIRST;
	}
	struct bucket *bucket = bucket_at(index, number_of(index, print));
	uint32_t      *slot = free_slot(bucket);
	bool           is_full = !slot;
	if (is_full) slot = &bucket->slots[(print.high >> 32) % SLOTS];
	if (is_full) *other = *slot % ID_INDEX_CELLS;
	*slot = tag_of(print) << CELL_BITS | cell;
	index->taken += !is_full;
	if (index->taken > index->buckets * SPLIT_IDS) split(index);
	return is_full;
}

bool id_index_remove(struct id_index *index, struct siphash print, uint32_t *cell)
{
	uint32_t *slot = slot_of(index, print);
	if (!slot) return false;
	*cell = *slot % ID_INDEX_CELLS;
	*slot = 0;
	index->taken--;
	return true;
}
