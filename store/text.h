#pragma once
#include "schemas/buffer.h"
#include "schemas/ids.h"
#include "store/view.h"

/* What `q` searches: the folded id and visible values of TEXT_PASSES passes a row, one behind the other, so that a
 * search goes through memory in order. Row: sizes u16[TEXT_PASSES], little-endian, then the texts. Within a text what
 * was separate is kept apart by SEARCHABLE_SEPARATOR. A text above TEXT_BYTES_MAX has a row of its own in LONG_TEXT, and here
 * the size TEXT_ELSEWHERE; only one above PASS_STORED_BYTES_MAX, as folding may make it, is kept nowhere and has to be
 * made of the body again. Errors: as view.h. */
enum { TEXT_PASSES = 32, TEXT_BYTES_MAX = 1000, TEXT_ELSEWHERE = 0xffff };

/* Stages the text of one pass. */
must_check enum err text_put(struct view *view, struct account_id account, uint32_t number, struct span text);

/* The same of another thing than a pass, in the tables of its kind: of blocks of TEXT_PASSES, and of long texts, 0: those
 * are kept nowhere. */
struct text_tables {
	enum table blocks, longs;
};
must_check enum err text_put_in(struct view *view, struct text_tables tables, struct account_id account,
                                uint32_t number, struct span text);

/* The texts of one row, in it. Errors: ERR_DAMAGED. */
struct text_row {
	struct span all;             /* all of them, side by side */
	struct span of[TEXT_PASSES]; /* each one */
	uint32_t    elsewhere;       /* a bit a pass: its text is not kept here */
};
must_check enum err text_row_read(struct span value, struct text_row *texts);
