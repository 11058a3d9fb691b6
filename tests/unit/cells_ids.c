/* Passes found by id in memory: always the pass that PASS_ID has at that moment. */
#include "tests/unit/in_memory.h"

#include "store/hot.h"
#include "store/index.h"

#include <stdio.h>

enum { ACCOUNTS = 3, IDS = 150, PASSES_MAX = 2000 };

static struct view *reader;
static unsigned     made[ACCOUNTS];
static unsigned     ids[ACCOUNTS][PASSES_MAX]; /* that the pass has */

static void begin(void)
{
	open_cells(&reader, 1);
}

static void end(void)
{
	close_cells(&reader, 1);
}

TestSuite(cells_ids, .init = begin, .fini = end);

static struct account_id account_of(unsigned index)
{
	return (struct account_id){{(uint8_t)('a' + index)}};
}

static struct span id_of(unsigned id)
{
	static char text[PASS_ID_BYTES_MAX + 1];
	return span_of(text, (size_t)snprintf(text, sizeof text, "%0*u", 1 + (int)(id % 40), id));
}

static struct row_key key_of(unsigned index, unsigned id, uint32_t number)
{
	return key_pass_id(account_of(index), id_of(id), number);
}

static void put_id(unsigned index, unsigned id, uint32_t number)
{
	struct row_key key = key_of(index, id, number);
	cr_assert_eq(write_put(&s.staged, TABLE_PASS_ID, key_span(&key), span_of(NULL, 0)), OK);
	ids[index][number] = id;
}

/* `id_first`: the row of the id is staged before that of the pass. */
static uint32_t create(unsigned index, unsigned id, bool id_first)
{
	struct hot pass = {.status = 2, .template = 1};
	uint32_t   number = made[index]++;
	if (id_first) put_id(index, id, number);
	cr_assert_eq(hot_add(s.view, account_of(index), number, &pass), OK);
	if (!id_first) put_id(index, id, number);
	scratch_save(&s);
	return number;
}

static void rename_pass(unsigned index, uint32_t number, unsigned id)
{
	struct row_key key = key_of(index, ids[index][number], number);
	cr_assert_eq(write_del(&s.staged, TABLE_PASS_ID, key_span(&key)), OK);
	put_id(index, id, number);
	scratch_save(&s);
}

/* By the model; made[index]: none. */
static uint32_t newest(unsigned index, unsigned id)
{
	for (uint32_t number = made[index]; number-- > 0;)
		if (ids[index][number] == id) return number;
	return made[index];
}

static void expect_right(struct view *view, unsigned index, unsigned id)
{
	uint32_t number, wanted = newest(index, id);
	enum err err = index_find(view, account_of(index), id_of(id), &number);
	cr_assert_eq(err, wanted == made[index] ? ERR_NOT_FOUND : OK, "id %u", id);
	cr_assert(err || number == wanted, "id %u: %u, not %u", id, number, wanted);
}

static bool is_known(unsigned index, unsigned id)
{
	struct row_key key = key_of(index, id, 0);
	uint32_t       number;
	bool           is = cells_find_id(s.view, key_span(&key), &number);
	cr_assert(!is || number == newest(index, id));
	return is;
}

Test(cells_ids, are_learnt_when_they_are_asked_for)
{
	struct hot_at at;
	for (unsigned id = 0; id < HOT_PASSES; id++)
		(void)create(0, id, id % 2 == 0);
	scratch_commit(&s);
	/* When its row of PASS_ID was written, the last pass of a full row might have had a younger one behind it. */
	cr_expect(is_known(0, HOT_PASSES - 2));
	cr_expect_not(is_known(0, HOT_PASSES - 1));
	expect_right(s.view, 0, HOT_PASSES - 1);
	cr_expect(is_known(0, HOT_PASSES - 1));
	expect_right(s.view, 1, 3);
	cr_expect_not(is_known(1, 3), "another account's");
	cr_assert_eq(hot_get(s.view, account_of(0), 3, &at), OK);
}

Test(cells_ids, are_those_of_the_newest_pass)
{
	uint32_t first = create(0, 7, false), second;
	cr_expect(is_known(0, 7));
	second = create(0, 7, false);
	cr_expect(second != first && is_known(0, 7));
	expect_right(s.view, 0, 7);
	rename_pass(0, second, 8);
	cr_expect_not(is_known(0, 7));
	expect_right(s.view, 0, 7);
	expect_right(s.view, 0, 8);
	rename_pass(0, first, 8); /* the second is newer */
	expect_right(s.view, 0, 8);
	expect_right(s.view, 0, 7);
}

Test(cells_ids, are_known_to_the_writer_alone)
{
	struct row_key key = key_of(0, 7, 0);
	uint32_t       number;
	(void)create(0, 7, false);
	scratch_commit(&s);
	cr_assert_eq(db_reader_begin(reader), OK);
	expect_right(reader, 0, 7);
	cr_expect_not(cells_find_id(reader, key_span(&key), &number));
	uint32_t then = newest(0, 7);
	(void)create(0, 7, false);
	cr_assert_eq(index_find(reader, account_of(0), id_of(7), &number), OK);
	cr_expect_eq(number, then);
	db_reader_end(reader);
}

Test(cells_ids, are_right_after_any_work)
{
	unsigned known = 0, asked = 0;
	for (unsigned turn = 0; turn < 20000; turn++) {
		unsigned index = chance_below(&state, ACCOUNTS), id = chance_below(&state, IDS);
		unsigned what = chance_below(&state, 10);
		if ((what == 0 && made[index] < PASSES_MAX) || !made[index])
			(void)create(index, id, chance_below(&state, 2));
		else if (what == 1)
			rename_pass(index, chance_below(&state, made[index]), id);
		else if (what == 2)
			scratch_commit(&s);
		known += is_known(index, id);
		asked++;
		expect_right(s.view, index, chance_below(&state, IDS));
	}
	for (unsigned index = 0; index < ACCOUNTS; index++)
		for (unsigned id = 0; id < IDS; id++)
			expect_right(s.view, index, id);
	cr_expect_gt(known, asked / 3);
}

/* A row of PASS_ID without a pass, or with a damaged one, is not made better here. */
Test(cells_ids, of_passes_that_cannot_be_read_are_not_kept)
{
	uint32_t number;
	put_id(0, 5, 90);
	scratch_save(&s);
	cr_assert_eq(index_find(s.view, account_of(0), id_of(5), &number), OK);
	cr_expect_eq(number, 90);
	struct row_key key = key_of(0, 5, 0);
	cr_expect_not(cells_find_id(s.view, key_span(&key), &number));
}
