#pragma once
#include "schemas/arena.h"
#include "schemas/err.h"
#include "schemas/limits.h"
#include "schemas/span.h"
#include "store/table.h"

/* The writes of one command: staged by its handler, applied by the engine only if the handler succeeds. Keys and
 * values are copied into `arena`, which lives until the command is done. A later write to the same row replaces or
 * refines the earlier one, so a row has at most one write. Errors: ERR_NO_MEMORY; ERR_TOO_LARGE (key or value beyond
 * its table's bound). */
enum write_kind { WRITE_PUT = 1, WRITE_DEL = 2, WRITE_PATCH = 3 }; /* the journal's numbers */

struct patch {
	uint16_t       offset, size; /* bytes in the value */
	const uint8_t *bytes;
};
enum { PATCHES_MAX = 12 };

struct write {
	enum write_kind kind;
	enum table      table;
	struct span     key;
	struct span     value;   /* PUT */
	struct patch   *patches; /* PATCH: any order, no overlaps */
	unsigned        patch_count;
};

struct writes {
	struct arena *arena;
	unsigned      count, room;
	uint64_t      tables; /* TABLE_BIT of each table with a write */
	struct write *rows;   /* in the arena, `room` of them */
	uint16_t *slots; /* only for many rows: indexes of rows + 1, by a hash of table and key; 0: none */
};

/* No writes; also replaces dropped ones. */
static inline struct writes writes_none(struct arena *arena)
{
	return (struct writes){.arena = arena};
}

must_check enum err write_put(struct writes *writes, enum table table, struct span key, struct span value);
must_check enum err write_del(struct writes *writes, enum table table, struct span key);
must_check enum err write_patch(struct writes *writes, enum table table, struct span key, uint16_t offset,
                                struct span bytes);

/* The staged write of a row, or NULL. */
const struct write *writes_find(const struct writes *writes, enum table table, struct span key);

/* A row's value as it will be: `base` (size 0 if absent) with the staged write applied, in the arena if it must be
 * computed. Errors: ERR_NOT_FOUND (deleted, or patched but absent), ERR_NO_MEMORY. */
must_check enum err write_over(const struct writes *writes, const struct write *write, struct span base,
                               struct span *value);
