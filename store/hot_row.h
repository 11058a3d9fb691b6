#pragma once
#include "schemas/clock.h"
#include "schemas/span.h"
#include "store/writes.h"

#include <stdbool.h>

/* The form of a row of HOT: the hot part of HOT_PASSES passes, as columns. Pass numbers are dense in their account, from
 * 0; the row is number / HOT_PASSES.
 * Row, little-endian: counts u8[8] (0..5 live passes by status, 6 deleted ones, 7 passes in the row) | 16 bytes that are no
 * longer used: written as zeros, ignored when read (tables of version 1 have times there) | then a column each:
 * status u8, flags u8, template u16, scan_count u32, balance i64, created i64, updated i64, last_scan i64, ledger_head u64.
 * Times are wall_us. Pure functions. */
enum {
	HOT_PASSES = 40,
	HOT_COUNTS = 8,
	HOT_COUNT_DELETED = 6,
	HOT_COUNT_USED = 7,
	HOT_WORDS = 6, /* a pass in memory: words of 64 bits */
	HOT_COLUMNS_AT = HOT_COUNTS + 16,
	HOT_ROW_BYTES = HOT_COLUMNS_AT + HOT_PASSES * HOT_WORDS * 8,
	HOT_HEAD = HOT_PASSES, /* the place of the counts, where an index of a pass would be */
};

enum hot_flag {
	HOT_DELETED = 1,
	HOT_REINSTALL_BLOCKED = 2,
	HOT_ERASED = 4,    /* an erased pass is deleted as well */
	HOT_BY_WALLET = 8, /* `active` because a wallet has it, and not only by the operator's word */
};

struct hot {
	uint8_t status; /* enum pass_status */
	uint8_t flags;
	uint16_t template; /* number in the account */
	uint32_t scan_count;
	int64_t  balance;
	wall_us  created, updated;
	wall_us  last_scan;   /* of the last successful one; 0: none */
	uint64_t ledger_head; /* seq of the pass's newest ledger row */
};

/* The columns of a row that lists need, each into an array. */
struct hot_columns {
	int64_t *updated, *balance;
	uint16_t *template;
};

/* Decode a whole row: its counts, the passes in it, and the columns that lists need of all of them. */
bool           hot_row_is_whole(struct span row);
const uint8_t *hot_row_counts(struct span row); /* HOT_COUNTS of them */
struct hot     hot_row_pass(struct span row, unsigned index);
void           hot_row_columns(struct span row, const struct hot_columns *columns);
void           hot_row_put(uint8_t row[HOT_ROW_BYTES], unsigned index, const struct hot *pass);

/* A pass as words: status, flags, template and scan_count | balance | created | updated | last_scan | ledger_head. */
void       hot_row_words(struct span row, unsigned index, uint64_t words[HOT_WORDS]);
void       hot_row_put_words(uint8_t row[HOT_ROW_BYTES], unsigned index, const uint64_t words[HOT_WORDS]);
struct hot hot_of_words(const uint64_t words[HOT_WORDS]);
void hot_words_columns(const uint64_t words[HOT_WORDS], const struct hot_columns *columns, unsigned index);

/* A patch of a row is one field of one pass, or all counts. Where each field lies. */
enum hot_field {
	HOT_STATUS,
	HOT_FLAGS,
	HOT_TEMPLATE,
	HOT_SCAN_COUNT,
	HOT_BALANCE,
	HOT_CREATED,
	HOT_UPDATED,
	HOT_LAST_SCAN,
	HOT_LEDGER_HEAD,
	HOT_FIELDS
};
uint16_t hot_field_at(enum hot_field field, unsigned index);

/* Whose patch is it: the index of a pass, or HOT_HEAD? False: of another form. */
bool hot_patch_index(const struct patch *patch, unsigned *index);
/* Lays a staged patch of a row over one of its passes, and its counts. False: a patch of another form. */
bool hot_patch_pass(const struct write *write, unsigned index, uint8_t counts[HOT_COUNTS], struct hot *pass);
/* Lays it over the words of that pass, or over words[0] as the counts. */
void hot_patch_words(const struct patch *patch, uint64_t words[HOT_WORDS]);
