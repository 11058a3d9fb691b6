#pragma once
#include "schemas/siphash.h"

#include <stdbool.h>

/* Which cell the newest pass with an id has: a hash table of 32-bit slots in the writer's memory. A slot has six bits of the
 * id's fingerprint and the number of a cell; the cell keeps the whole fingerprint, which decides. So two ids are never
 * confused, and a look-up costs a cache line here and that of the cell, which is needed anyway.
 * It is a cache: an id that is not in it is looked up in PASS_ID. It grows with the ids that it has, by one bucket at a time,
 * to eleven bytes an id. The writer's alone. */

/* Of account and id. Both zero: of none. */
static inline bool is_fingerprint(struct siphash print)
{
	return (print.low | print.high) != 0;
}

enum {
	ID_INDEX_CELLS = 1 << 26, /* cells from this number on are not found by id */
	ID_INDEX_SEGMENTS = 256,
};

struct id_index {
	/* The fingerprint that a cell has. */
	const struct siphash *(*of)(const void *user, uint32_t cell);
	const void *user;

	struct id_segment *segments[ID_INDEX_SEGMENTS];
	uint32_t           segment_count, buckets, taken;
};

/* Errors of id_index_open(): none; memory is taken when an id is put. */
void   id_index_open(struct id_index *index, const struct siphash *(*of)(const void *user, uint32_t cell),
                     const void      *user);
void   id_index_close(struct id_index *index);
size_t id_index_bytes(const struct id_index *index);

/* False: it is not there. */
bool id_index_find(const struct id_index *index, struct siphash print, uint32_t *cell);
/* Puts an id that is not there; the cell gets the fingerprint from the caller, before the call. True: `*other` is the cell of
 * an id that had to go for it, which may be this one: its fingerprint is to be cleared. */
bool id_index_put(struct id_index *index, struct siphash print, uint32_t cell, uint32_t *other);
/* Removes the id if it is there. The fingerprint of its cell, `*cell`, is then to be cleared. */
bool id_index_remove(struct id_index *index, struct siphash print, uint32_t *cell);
