/* Searching blocks of texts: in each whole text, and in its first part where only that counts. */
#include "actors/shard/pass/search.h"
#include "schemas/searchable.h"
#include "schemas/search.h"
#include "store/text.h"
#include "tests/unit/lists.h"

enum { TEXTS = TEXTS_ROWS_MIN * TEXT_PASSES + 5, TEXT_MAX = 24, LONG_TEXT_MAX = 300 };

static struct account account = {.id = {{'a'}}};
static uint8_t        texts[TEXTS][LONG_TEXT_MAX];
static size_t         sizes[TEXTS];

TestSuite(text_search, .init = begin, .fini = end);

/* Every eighth row is longer than a block. */
static void rewrite(uint32_t number)
{
	sizes[number] = chance_below(&state, number / TEXT_PASSES % 8 ? TEXT_MAX : LONG_TEXT_MAX);
	for (size_t i = 0; i < sizes[number]; i++)
		texts[number][i] = chance_below(&state, 10) ? (uint8_t)('a' + chance_below(&state, 3))
		                                            : (uint8_t)SEARCHABLE_SEPARATOR;
	cr_assert_eq(text_put(s.view, account.id, number, span_of(texts[number], sizes[number])), OK);
	scratch_save(&s);
}

static bool should_hold(uint32_t number, struct span q, bool is_first_part)
{
	size_t         size = sizes[number];
	const uint8_t *end = memchr(texts[number], SEARCHABLE_SEPARATOR, size);
	if (is_first_part && end) size = (size_t)(end - texts[number]);
	return memmem(texts[number], size, q.at, q.size) != NULL;
}

static void finds_what_each_holds(struct span q, bool is_first_part)
{
	static uint64_t  bits[TEXTS / 64 + 1], among[TEXTS / 64 + 1];
	struct call      call = {.deadline = {INT64_MAX}};
	struct request   request = {.call = &call, .account = &account, .view = reader, .kept = kept};
	struct selection selection = {.made = TEXTS, .bits = bits};
	uint64_t         total = 0;
	for (uint32_t i = 0; i < TEXTS / 64 + 1; i++)
		among[i] = bits[i] = chance_below(&state, 4) ? UINT64_MAX : chance(&state);
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(is_first_part ? search_ids(&request, q, &selection)
	                           : search_texts(&request, q, NULL, &selection),
	             OK);
	db_reader_end(reader);
	for (uint32_t i = 0; i < TEXTS; i++) {
		bool want = among[i / 64] >> i % 64 & 1 && should_hold(i, q, is_first_part);
		cr_assert_eq(bits[i / 64] >> i % 64 & 1, want, "text %u, %.*s", i, (int)q.size, q.at);
		total += want;
	}
	cr_expect_eq(selection.total, total);
	cr_expect_eq(bits[TEXTS / 64] >> TEXTS % 64, 0, "there is nothing after the last");
}

/* As if there had been no memory for the caches. */
static void lose_some_copies(void)
{
	enum { ROWS = (TEXTS + TEXT_PASSES - 1) / TEXT_PASSES };
	struct kept_texts *rows;
	unsigned           kept_copies = 0;
	cr_assert_eq(kept_texts_take(kept, TABLE_TEXT, account.id, ROWS, &rows), OK);
	for (uint32_t row = 0; row < ROWS; row++) {
		struct kept_row *one = &rows->list[row];
		kept_copies += one->copy != NULL;
		if (chance_below(&state, 16)) continue;
		rows->copies_size -= one->copy_size;
		free(one->copy);
		one->copy = NULL;
		one->copy_size = 0;
	}
	cr_expect_geq(kept_copies, 1);
	kept_texts_give(kept, &rows);
}

Test(text_search, equals_a_search_of_each_text)
{
	for (uint32_t i = 0; i < TEXTS; i++)
		rewrite(i);
	scratch_commit(&s);
	for (unsigned turn = 0; turn < 120; turn++) {
		uint8_t q[8];
		size_t  size = 1 + chance_below(&state, sizeof q);
		for (size_t i = 0; i < size; i++)
			q[i] = (uint8_t)('a' + chance_below(&state, 3));
		finds_what_each_holds(span_of(q, size), turn % 3 == 0);
		if (turn % 4 == 3) lose_some_copies();
		rewrite(chance_below(&state, TEXTS));
		scratch_commit(&s);
	}
}
