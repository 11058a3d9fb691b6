#pragma once
#include "schemas/ids.h"
#include "store/late_rows.h"
#include "store/retired.h"

#include <stdatomic.h>

/* Shared by the files that hold late rows, and a part of what cells are (cells_inside.h). */
struct late_row;

/* What a row is from transaction `txn` on. Readers look at it: it does not change once that transaction is committed. */
struct late_value {
	struct retired
	    retired; /* or its place among those that have been replaced, with the commit as epoch */
	_Atomic(struct late_value *)
	                 older; /* what it was before; NULL: as LMDB has it in views that are older */
	uint64_t         txn;
	struct late_row *row;
	uint32_t         size;
	bool             is_gone; /* the row is deleted */
	uint8_t          bytes[];
};

struct late_row {
	struct retired               retired; /* or its place among those that have been written */
	uint64_t                     hash;
	_Atomic(struct late_value *) value; /* the newest; NULL: it is being made */

	/* The writer's. */
	uint64_t written;   /* the commit that has it as it is; 0: LMDB has it otherwise, or not at all */
	bool     is_listed; /* it is to be written */
	bool     is_queued; /* among those that have been written */
	bool     is_stored; /* LMDB has a row of the key, for certain */

	uint8_t  table;
	uint16_t key_size;
	uint8_t  key[];
};

/* Rows by the hash of their key. There are many small tables instead of a large one, so that none takes long to be replaced
 * by a larger one. Open addressing; the slot of a row that has left memory is used again when the table is replaced. */
enum { LATE_PARTS = 256 };
struct late_part {
	struct retired retired;
	uint32_t       mask, taken, rows; /* of its slots, by rows that have gone too; of these, by others */
	struct late_slot {
		uint64_t                   hash;
		_Atomic(struct late_row *) row;
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
	_Atomic(struct late_part *) parts[LATE_PARTS];

	/* The writer's. */
	struct late_places dirty,
	    waiting;                  /* each listed row is in one of them; those to be written are a heap */
	struct retired_list written;  /* rows that stay for views, the oldest commit about first */
	struct retired_list replaced; /* values, likewise */
	uint64_t            bytes, bytes_max, growth; /* of listed rows */
	uint32_t            taken;                    /* how many waited when the last ones were taken */
};

/* Which changes a table has, and who reads it, besides the writer. */
static inline bool late_table_is_shared(enum table table)
{
	return table != TABLE_IDEMPOTENCY;
}

static inline bool late_table_has(enum table table, enum write_kind kind)
{
	return kind == WRITE_PUT || (kind == WRITE_PATCH) == (table == TABLE_SCAN);
}

static inline struct span late_row_key(const struct late_row *row)
{
	return span_of(row->key, row->key_size);
}

/* The newest value, for the writer. */
static inline struct late_value *late_row_value(const struct late_row *row)
{
	return atomic_load_explicit(&row->value, memory_order_relaxed);
}

static inline struct span late_value_span(const struct late_value *value)
{
	return span_of(value->bytes, value->size);
}

/* late_rows_pool.c. The row, or NULL; made without a value if absent; is not found any more. Errors: NULL: no memory. */
struct late_row *late_row(const struct cells *cells, enum table table, struct span key);
struct late_row *late_row_made(struct cells *cells, enum table table, struct span key);
void             late_row_drop(struct cells *cells, struct late_row *row);
/* From transaction `txn` on the row has the value, or is deleted: `value` NULL. Errors: ERR_NO_MEMORY. */
must_check enum err late_row_set(struct cells *cells, struct late_row *row, uint64_t txn,
                                 const struct span *value);
/* It is as LMDB has it from row->written on, and leaves memory when all views see that commit. */
void late_row_keep(struct cells *cells, struct late_row *row);
/* Bytes in memory; and that the table will grow by at most. */
uint64_t late_row_bytes(const struct late_row *row);
uint64_t late_row_growth(const struct late_row *row);
void     late_rows_close(struct cells *cells);

/* late_rows_round.c: the row has changed, and is to be written by the next round. Errors: ERR_NO_MEMORY. */
must_check enum err late_rows_list(struct cells *cells, struct late_row *row);
