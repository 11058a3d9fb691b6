#pragma once
#include "schemas/buffer.h"
#include "schemas/ids.h"
#include "store/view.h"

/* Text that `q` searches: the folded id and visible values of TEXT_PASSES passes a row, concatenated, so that a
 * search reads memory in order. Row: sizes u16[TEXT_PASSES], little-endian, then the texts. Within a text,
 * SEARCHABLE_SEPARATOR stands between values. A text above TEXT_BYTES_MAX has a row of its own in LONG_TEXT, and
 * here the size TEXT_ELSEWHERE. Folding may make a text exceed PASS_STORED_BYTES_MAX; such a text is not stored and
 * must be computed from the body. Errors: as view.h. */
enum { TEXT_PASSES = 32, TEXT_BYTES_MAX = 1000, TEXT_ELSEWHERE = 0xffff };

/* Stages the text of one pass. */
must_check enum err text_put(struct view *view, struct account_id account, uint32_t number, struct span text);

/* The same for other things than passes, in their own tables: of blocks of TEXT_PASSES, and of long texts; longs 0:
 * those are not stored. */
struct text_tables {
	enum table blocks, longs;
};
must_check enum err text_put_in(struct view *view, struct text_tables tables, struct account_id account,
                                uint32_t number, struct span text);

/* The texts of one row, pointing into it. Errors: ERR_DAMAGED. */
struct text_row {
	struct span all;             /* all of them, concatenated */
	struct span of[TEXT_PASSES]; /* each one */
	uint32_t    elsewhere;       /* a bit a pass: its text is not in this row */
};
must_check enum err text_row_read(struct span value, struct text_row *texts);
