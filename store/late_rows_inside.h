#pragma once
#include "store/late_rows.h"

/* Shared by the files that hold late rows, and a part of what cells are (cells_inside.h). */
struct late_value {
	uint32_t size;
	uint8_t  bytes[];
};

struct late_row {
	uint64_t           hash;
	struct late_value *value; /* NULL: the row is deleted */
	uint16_t           key_size;
	uint8_t            table;
	uint8_t            key[];
};

/* Rows by the hash of their key. There are many small tables instead of a large one, so that none takes long to be replaced
 * by a larger one. Open addressing; the slot of a row that has left memory is used again when the table is replaced. */
enum { LATE_PARTS = 256 };
struct late_part {
	uint32_t mask, taken, rows; /* of its slots, by rows that have gone too; of these, by others */
	struct late_slot {
		uint64_t         hash;
		struct late_row *row;
	} slots[];
};

/* Where a row belongs in the order of keys, about: rows of one page should come one after the other. */
struct late_place {
	uint64_t         at;
	struct late_row *row;
};
struct late_places {
	struct late_place *at;
	uint32_t           count, room;
};

struct late_rows {
	struct late_part  *parts[LATE_PARTS];
	struct late_places dirty, waiting; /* each row is in one of them; those to be written are a heap */
	uint64_t           bytes, bytes_max;
	uint64_t           growth;
};

/* late_rows_pool.c. The row, or NULL; made without a value if absent, and then its caller lists it; leaves memory.
 * Errors: NULL: no memory. */
struct late_row *late_row(const struct cells *cells, enum table table, struct span key);
struct late_row *late_row_made(struct cells *cells, enum table table, struct span key, bool *is_new);
void             late_row_drop(struct cells *cells, struct late_row *row);
/* Sets the value; `value` NULL: the row is deleted. Errors: ERR_NO_MEMORY. */
must_check enum err late_row_set(struct cells *cells, struct late_row *row, const struct span *value);
void                late_rows_close(struct cells *cells);

static inline struct span late_row_key(const struct late_row *row)
{
	return span_of(row->key, row->key_size);
}

/* Of one that is not deleted. */
static inline struct span late_row_value(const struct late_row *row)
{
	return span_of(row->value->bytes, row->value->size);
}

/* late_rows_round.c: a new row is to be written by the next round. Errors: ERR_NO_MEMORY. */
must_check enum err late_rows_list(struct cells *cells, struct late_row *row);
