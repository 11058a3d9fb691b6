/* Columns of passes in memory: they equal the rows of the requested view, whatever was written between two
 * lists. */
#include "tests/unit/lists.h"

#include "store/cells.h"
#include "store/keys.h"

enum { PASSES = COLUMNS_PASSES_MIN + 77, MORE = 300 };

static const struct account_id account = {{'a'}};
static struct hot              model[PASSES + MORE];
static uint32_t                made;

TestSuite(columns, .init = begin, .fini = end);

static int64_t any_time(void)
{
	return 1000 + (int64_t)chance_below(&state, 100000);
}

static void add(struct account_id of)
{
	struct hot pass = {.status = (uint8_t)chance_below(&state, 6),
	                   .flags = chance_below(&state, 5) ? 0 : HOT_DELETED,
	                   .template = (uint16_t)(1 + chance_below(&state, 3)),
	                   .created = {(int64_t)made},
	                   .updated = {any_time()}};
	cr_assert_eq(hot_add(s.view, of, made, &pass), OK);
	scratch_save(&s);
	model[made++] = pass;
}

static void fill(unsigned count)
{
	while (count--)
		add(account);
	scratch_commit(&s);
}

static void change(uint32_t number)
{
	struct hot_at at;
	struct hot   *pass = &model[number];
	pass->balance = (int64_t)chance(&state);
	pass->updated.v = any_time();
	pass->status = (uint8_t)chance_below(&state, 6);
	pass->flags ^= chance_below(&state, 2) ? HOT_DELETED : HOT_REINSTALL_BLOCKED;
	cr_assert_eq(hot_get(s.view, account, number, &at), OK);
	cr_assert_eq(hot_put(s.view, &at, pass), OK);
	scratch_save(&s);
}

static void bounds_hold(const struct columns *columns, uint32_t word)
{
	int64_t oldest = INT64_MAX, newest = INT64_MIN;
	for (uint32_t i = word * COLUMN_WORD; i < made && i < (word + 1) * COLUMN_WORD; i++) {
		oldest = model[i].updated.v < oldest ? model[i].updated.v : oldest;
		newest = model[i].updated.v > newest ? model[i].updated.v : newest;
	}
	cr_expect(columns->oldest[word] == oldest && columns->newest[word] == newest, "bounds of word %u",
	          word);
}

static void are_right(const struct columns *columns)
{
	cr_assert_eq(columns->made, made);
	for (uint32_t i = 0; i < made; i++) {
		cr_assert(columns->of.updated[i] == model[i].updated.v &&
		              columns->of.balance[i] == model[i].balance &&
		              columns->of.template[i] == model[i].template,
		          "pass %u", i);
	}
	for (uint32_t word = 0; word * COLUMN_WORD < made; word++)
		bounds_hold(columns, word);
}

/* In a new view. Their address shows whether they were cached. */
static const struct columns *look(void)
{
	struct columns *columns;
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(columns_take(kept, reader, account, made, &columns), OK);
	are_right(columns);
	const struct columns *seen = columns;
	columns_give(kept, &columns);
	cr_expect_null(columns);
	db_reader_end(reader);
	return seen;
}

Test(columns, equal_the_rows)
{
	static const unsigned sizes[] = {0, 1, 39, 1, 23, 1, 15, 1, 47, 500};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		fill(sizes[i]);
		look();
	}
}

Test(columns, follow_every_change)
{
	fill(PASSES);
	const struct columns *first = look();
	for (unsigned turn = 0; turn < 60; turn++) {
		for (unsigned i = chance_below(&state, 1 + turn * 4); i; i--)
			change(chance_below(&state, made));
		scratch_commit(&s);
		cr_expect_eq(look(), first, "they are cached");
		if (turn % 8 == 0) fill(chance_below(&state, MORE / 8));
	}
}

Test(columns, grow_pass_by_pass)
{
	fill(PASSES);
	for (unsigned i = 0; i < 3 * COLUMN_WORD; i++) {
		fill(1);
		look();
	}
}

/* Only rows that were written are read again. */
Test(columns, read_again_only_written_rows)
{
	struct columns *columns;
	fill(PASSES);
	look();
	change(100);
	scratch_commit(&s);
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(columns_take(kept, reader, account, made, &columns), OK);
	columns->of.updated[79] = columns->of.updated[120] = columns->of.updated[100] = -1;
	columns_give(kept, &columns);
	db_reader_end(reader);
	change(85);
	scratch_commit(&s);
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(columns_take(kept, reader, account, made, &columns), OK);
	cr_expect_eq(columns->of.updated[79], -1, "the row before is not read");
	cr_expect_eq(columns->of.updated[120], -1, "the row after it is not read");
	cr_expect_eq(columns->of.updated[100], model[100].updated.v, "the row itself is read");
	columns_give(kept, &columns);
	db_reader_end(reader);
}

/* In a view that is older than the newest change. */
static void look_before_a_change(void)
{
	static struct hot then[PASSES + MORE];
	struct columns   *columns;
	memcpy(then, model, sizeof then);
	cr_assert_eq(db_reader_begin(reader), OK);
	change(chance_below(&state, made));
	cr_assert_eq(columns_take(kept, reader, account, made, &columns), OK);
	for (uint32_t i = 0; i < made; i++)
		cr_assert(columns->of.updated[i] == then[i].updated.v &&
		          columns->of.balance[i] == then[i].balance);
	columns_give(kept, &columns);
	db_reader_end(reader);
}

/* Some rows are only in the tables, some in memory. */
Test(columns, follow_what_is_in_memory)
{
	struct cells *cells;
	fill(PASSES);
	cr_assert_eq(cells_open(&cells), OK);
	db_use_cells(s.db, cells);
	db_reader_use_cells(reader);
	scratch_commit(&s);
	const struct columns *first = look();
	for (unsigned turn = 0; turn < 60; turn++) {
		for (unsigned i = chance_below(&state, 1 + turn * 2); i; i--)
			change(chance_below(&state, made));
		scratch_commit(&s);
		look_before_a_change();
		scratch_commit(&s);
		cr_expect_eq(look(), first, "they are kept");
		if (turn % 8 == 0) fill(chance_below(&state, MORE / 8));
	}
	db_reader_close(&reader);
	db_use_cells(s.db, NULL);
	cells_close(&cells);
}

/* A view that began before another one updated the columns does not see later changes. */
Test(columns, of_an_older_view_are_read_again)
{
	struct view      *old;
	struct columns   *columns;
	static struct hot then[PASSES];
	fill(PASSES);
	cr_assert_eq(db_reader_open(s.db, &arena, &old), OK);
	cr_assert_eq(db_reader_begin(old), OK);
	memcpy(then, model, sizeof then);
	for (unsigned i = 0; i < 500; i++)
		change(chance_below(&state, made));
	scratch_commit(&s);
	look();
	cr_assert_eq(columns_take(kept, old, account, made, &columns), OK);
	for (uint32_t i = 0; i < made; i++)
		cr_assert_eq(columns->of.updated[i], then[i].updated.v, "pass %u", i);
	columns_give(kept, &columns);
	db_reader_close(&old);
	look();
}

Test(columns, of_small_accounts_are_not_cached)
{
	struct columns *columns, *again;
	fill(COLUMNS_PASSES_MIN - 1);
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(columns_take(kept, reader, account, made, &columns), OK);
	columns->of.updated[5] = -1;
	columns_give(kept, &columns);
	cr_assert_eq(columns_take(kept, reader, account, made, &again), OK);
	cr_expect_eq(again->of.updated[5], model[5].updated.v);
	columns_give(kept, &again);
}

Test(columns, are_evicted_for_other_accounts)
{
	struct columns *columns;
	fill(PASSES);
	look();
	cr_assert_eq(db_reader_begin(reader), OK);
	for (unsigned i = 0; i < LIST_CACHE_MAX; i++) {
		struct account_id other = {{'b', (uint8_t)i}};
		cr_assert_eq(columns_take(kept, reader, account, made, &columns), OK);
		columns->kept.account = other; /* as if it were that account's */
		columns_give(kept, &columns);
	}
	cr_assert_eq(columns_take(kept, reader, account, made, &columns), OK);
	are_right(columns);
	columns_give(kept, &columns);
}

Test(columns, of_a_damaged_row_are_an_error_and_not_cached)
{
	struct columns *columns;
	struct row_key  key = key_u32(account, 50);
	fill(PASSES);
	look();
	change(50 * HOT_PASSES);
	cr_assert_eq(write_put(&s.staged, TABLE_HOT, key_span(&key), filler(1, 100)), OK);
	scratch_save(&s);
	scratch_commit(&s);
	cr_assert_eq(db_reader_begin(reader), OK);
	for (unsigned i = 0; i < 2; i++) {
		cr_expect_eq(columns_take(kept, reader, account, made, &columns), ERR_DAMAGED);
		cr_expect_null(columns);
	}
}
