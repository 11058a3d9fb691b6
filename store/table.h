#pragma once
#include <stdbool.h>

/* One larger than the largest number, whatever the order of the rows. */
union tables_end {
#define T(id, NAME, name, kind) char of_##NAME[id + 1];
#include "store/tables.def"
#undef T
};

/* The tables by number; see tables.def for keys, values and codecs. */
enum table {
#define T(id, NAME, name, kind) TABLE_##NAME = id,
#include "store/tables.def"
#undef T
	TABLE_END = sizeof(union tables_end)
};

/* A set of tables: TABLE_BIT(TABLE_HOT) | ... */
#define TABLE_BIT(table) (UINT64_C(1) << (table))
_Static_assert(TABLE_END <= 64, "a set of tables is 64 bits");

enum table_kind { KIND_PLAIN, KIND_PARTED };

/* A late table: its changes lie in memory (cells.h, tails.h, late_rows.h) before they are in LMDB, and are written there in
 * rounds (late.h). Its rows are patched or deleted, never both. Only views know its newest rows. */
static inline bool table_is_late(enum table table)
{
	return table == TABLE_HOT || table == TABLE_LEDGER || table == TABLE_IDEMPOTENCY;
}

enum {
	KEY_BYTES_MAX = 511 - 2, /* LMDB's bound, less the part number of a PARTED table's row */
	ROW_BYTES_MAX = 2000,    /* a larger value would leave its page */
	PART_BYTES = 1900,
};
