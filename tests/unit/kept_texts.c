/* Trigram bitmaps of rows of texts: they never exclude a row that contains q, after any writes and in any
 * view. */
#include "schemas/search.h"
#include "store/keys.h"
#include "tests/unit/lists.h"

#include <stdio.h>

enum { ROWS = TRIGRAM_ROWS + 83 };

static const struct account_id account = {{'a'}};
static char                    texts[ROWS][200];

TestSuite(kept_texts, .init = begin, .fini = end);

static void rewrite(uint32_t row)
{
	struct row_key key = key_u32(account, row);
	size_t         size = chance_below(&state, sizeof texts[row]);
	for (size_t i = 0; i < size; i++)
		texts[row][i] = (char)('a' + chance_below(&state, 12));
	texts[row][size] = 0;
	cr_assert_eq(write_put(&s.staged, TABLE_TEXT, key_span(&key), span_str(texts[row])), OK);
	scratch_save(&s);
}

static void furnish(void)
{
	for (uint32_t row = 0; row < ROWS; row++)
		rewrite(row);
	scratch_commit(&s);
}

static void note(struct kept_texts *kept_of, struct view *view, uint32_t row, const char *text)
{
	struct text_row as_row = {.all = span_str(text)};
	if (kept_texts_note(kept_of, view, row, span_str(text))) kept_texts_mark(kept_of, row, &as_row);
}

/* Of one row; `may` may be NULL. */
static bool stands(const struct kept_texts *kept_of, struct view *view, uint32_t row, const char *q,
                   bool *may)
{
	struct kept_look look;
	kept_texts_look(kept_of, view, row / TRIGRAM_ROWS, span_str(q), &look);
	if (may) *may = kept_look_has(look.may, row);
	return kept_look_has(look.known, row);
}

/* Like a search: checks the bitmap, or reads the row and stores its bitmap. A skipped row must not contain
 * q. */
static unsigned skips(struct kept_texts *kept_of, struct view *view, const char *q)
{
	unsigned         skipped = 0;
	struct kept_look look;
	for (uint32_t row = 0; row < ROWS; row++) {
		if (row % TRIGRAM_ROWS == 0)
			kept_texts_look(kept_of, view, row / TRIGRAM_ROWS, span_str(q), &look);
		bool is_known = kept_look_has(look.known, row);
		if (!kept_look_has(look.may, row)) {
			cr_expect(is_known, "row %u", row);
			skipped++;
			cr_expect_not(span_holds(span_str(texts[row]), span_str(q)), "%s is in row %u", q,
			              row);
		} else if (!is_known) {
			note(kept_of, view, row, texts[row]);
		} else {
			struct span copy = kept_texts_copy(kept_of, row);
			cr_expect(span_equal(copy, span_str(texts[row])), "row %u", row);
		}
	}
	return skipped;
}

static unsigned search(const char *q)
{
	struct kept_texts *kept_of;
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(kept_texts_take(kept, TABLE_TEXT, account, ROWS, &kept_of), OK);
	unsigned skipped = skips(kept_of, reader, q);
	kept_texts_give(kept, &kept_of);
	cr_expect_null(kept_of);
	db_reader_end(reader);
	return skipped;
}

Test(kept_texts, skip_only_rows_that_do_not_contain_q)
{
	furnish();
	cr_expect_eq(search("xyz"), 0, "nothing is known yet");
	cr_expect_geq(search("xyzzy"), ROWS - ROWS / 50, "one row in about 250 is a false positive");
	for (unsigned i = 0; i < 300; i++) {
		char        q[8];
		uint32_t    row = chance_below(&state, ROWS);
		size_t      size = strlen(texts[row]);
		const char *from = texts[row] + (size > 7 ? chance_below(&state, (unsigned)size - 6) : 0);
		snprintf(q, sizeof q, "%.*s", 3 + (int)chance_below(&state, 4), from);
		search(q);
	}
}

Test(kept_texts, of_written_rows_are_invalid)
{
	furnish();
	search("abc");
	for (unsigned i = 0; i < 200; i++) {
		uint32_t row = chance_below(&state, ROWS);
		rewrite(row);
		scratch_commit(&s);
		char q[4];
		snprintf(q, sizeof q, "%.3s", texts[row]);
		search(q);
	}
}

/* An older view stores no bitmap that a newer one uses, and vice versa. */
Test(kept_texts, are_valid_for_their_view)
{
	static char        then[ROWS][200];
	struct view       *old;
	struct kept_texts *kept_of;
	furnish();
	cr_assert_eq(db_reader_open(s.db, &arena, &old), OK);
	cr_assert_eq(db_reader_begin(old), OK);
	memcpy(then, texts, sizeof then);
	for (uint32_t row = 0; row < ROWS; row += 2)
		rewrite(row);
	scratch_commit(&s);
	search("abc");
	cr_assert_eq(kept_texts_take(kept, TABLE_TEXT, account, ROWS, &kept_of), OK);
	for (uint32_t row = 0; row < ROWS; row++) {
		cr_expect_not(stands(kept_of, old, row, "abc", NULL), "row %u", row);
		cr_expect_not(kept_texts_note(kept_of, old, row, span_str(then[row])), "row %u", row);
	}
	kept_texts_give(kept, &kept_of);
	db_reader_close(&old);
	for (uint32_t row = 0; row < ROWS; row++) {
		char q[4];
		snprintf(q, sizeof q, "%.3s", texts[row]);
		if (row % 2 == 0) search(q);
	}
}

Test(kept_texts, of_rows_with_separate_texts_have_all_bits)
{
	struct kept_texts *kept_of;
	struct text_row    elsewhere = {.all = span_str("abc"), .elsewhere = 1};
	bool               may = false;
	furnish();
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(kept_texts_take(kept, TABLE_TEXT, account, ROWS, &kept_of), OK);
	cr_expect(kept_texts_note(kept_of, reader, 7, span_str("abc")));
	cr_expect(stands(kept_of, reader, 7, "nowhere", &may) && may, "no bits yet");
	kept_texts_mark(kept_of, 7, &elsewhere);
	cr_expect(stands(kept_of, reader, 7, "nowhere", &may) && may);
	kept_texts_give(kept, &kept_of);
}

/* Earlier contents of a row leave no bits, which would cause needless reads for ever. */
Test(kept_texts, of_a_row_have_only_its_current_bits)
{
	struct kept_texts *kept_of;
	char               every[3 * 17 * 17 * 17 + 1] = "";
	bool               may;
	for (unsigned i = 0; i < 17 * 17 * 17; i++)
		snprintf(every + 3 * i, 4, "%c%c%c", 'a' + i % 17, 'a' + i / 17 % 17, 'a' + i / 289);
	furnish();
	search("abc");
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(kept_texts_take(kept, TABLE_TEXT, account, ROWS, &kept_of), OK);
	note(kept_of, reader, 70, every);
	note(kept_of, reader, 71, "abcd");
	cr_expect(stands(kept_of, reader, 70, "xyz", &may) && may, "nearly all bits are set");
	cr_expect(stands(kept_of, reader, 71, "xyz", &may) && !may, "the neighbour's are not");
	note(kept_of, reader, 70, "abcd");
	cr_expect(stands(kept_of, reader, 70, "xyz", &may) && !may);
	cr_expect(stands(kept_of, reader, 70, "abcd", &may) && may);
	kept_texts_give(kept, &kept_of);
}

/* More rows than before: the bitmaps of the others stay, the new rows have none. */
Test(kept_texts, grow_with_the_rows)
{
	struct kept_texts *kept_of;
	bool               may;
	furnish();
	search("abc");
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(kept_texts_take(kept, TABLE_TEXT, account, ROWS, &kept_of), OK);
	note(kept_of, reader, ROWS - 1, "abcd");
	kept_texts_give(kept, &kept_of);
	for (uint32_t rows = ROWS + 1; rows < 4 * TRIGRAM_ROWS; rows += 100) {
		cr_assert_eq(kept_texts_take(kept, TABLE_TEXT, account, rows, &kept_of), OK);
		cr_expect(stands(kept_of, reader, ROWS - 1, "xyzzy", &may) && !may);
		cr_expect(!stands(kept_of, reader, rows - 1, "xyzzy", &may) && may, "row %u", rows - 1);
		note(kept_of, reader, rows - 1, "plugh");
		cr_expect(stands(kept_of, reader, rows - 1, "xyzzy", &may) && !may);
		cr_expect(stands(kept_of, reader, rows - 1, "plugh", &may) && may);
		kept_texts_give(kept, &kept_of);
	}
}

/* Rows beyond the memory limit have no copies. Rewritten rows free memory or use it. */
Test(kept_texts, copies_have_a_memory_limit)
{
	enum { BIG = TEXT_COPIES_MAX / 4 };
	struct kept_texts *kept_of;
	char              *big = calloc(1, BIG);
	struct span        all = span_of(big, BIG), less = span_of(big, 10);
	furnish();
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(kept_texts_take(kept, TABLE_TEXT, account, ROWS, &kept_of), OK);
	size_t bytes = kept_of->kept.bytes;
	for (uint32_t row = 0; row < 5; row++) {
		cr_expect(kept_texts_note(kept_of, reader, row, all));
		cr_expect(stands(kept_of, reader, row, "abc", NULL));
		cr_expect_eq(kept_texts_copy(kept_of, row).size, row < 4 ? all.size : 0, "row %u", row);
	}
	cr_expect_eq(kept_of->kept.bytes - bytes, TEXT_COPIES_MAX);
	cr_expect(kept_texts_note(kept_of, reader, 0, less) && kept_texts_copy(kept_of, 0).size == less.size);
	cr_expect(kept_texts_note(kept_of, reader, 4, all) && kept_texts_copy(kept_of, 4).size == 0,
	          "10 bytes too many");
	cr_expect(kept_texts_note(kept_of, reader, 4, less) && kept_texts_copy(kept_of, 4).size == less.size);
	cr_expect_eq(kept_of->kept.bytes - bytes, (size_t)3 * BIG + 20);
	kept_texts_give(kept, &kept_of);
	free(big);
}
