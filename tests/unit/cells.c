/* Cells in memory: what a row would be, to the writer and to readers of any commit, and what a round takes. */
#include "tests/unit/beside.h"

#include "store/hot.h"
#include "store/undo.h"

enum { PASSES = 3 * HOT_PASSES + 7, ACCOUNTS = 3 };

static struct hot model[ACCOUNTS][PASSES];
static unsigned   made[ACCOUNTS];

TestSuite(cells, .init = begin, .fini = end);

static struct hot any_pass(void)
{
	return (struct hot){.status = (uint8_t)chance_below(&state, HOT_COUNT_DELETED),
	                    .template = (uint16_t)(1 + chance_below(&state, 3)),
	                    .balance = (int64_t)chance(&state) / 4,
	                    .created = {(int64_t)chance_below(&state, 1000)},
	                    .updated = {(int64_t)chance(&state)},
	                    .scan_count = (uint32_t)chance(&state),
	                    .last_scan = {(int64_t)chance(&state)},
	                    .ledger_head = chance(&state)};
}

static void add(unsigned index)
{
	struct hot pass = any_pass();
	cr_assert_eq(hot_add(s.view, account_of(index), made[index], &pass), OK);
	cr_assert_eq(hot_add(plain.view, account_of(index), made[index], &pass), OK);
	model[index][made[index]++] = pass;
	save();
}

/* Of one pass, or of two of the same command. */
static void change(unsigned index, uint32_t number)
{
	for (unsigned left = 1 + chance_below(&state, 2), turn = 0; left; left--, turn++) {
		struct hot_at at;
		struct hot    after = any_pass(), *before = &model[index][number];
		after.template = before->template;
		after.created = before->created;
		after.flags = before->flags;
		if (chance_below(&state, 2)) after.status = before->status;
		if (chance_below(&state, 2)) after.scan_count = before->scan_count;
		if (turn) {
			after = *before;
			after.balance = (int64_t)chance(&state) / 4;
		}
		cr_assert_eq(hot_get(s.view, account_of(index), number, &at), OK);
		cr_assert_eq(hot_put(s.view, &at, &after), OK);
		cr_assert_eq(hot_get(plain.view, account_of(index), number, &at), OK);
		cr_assert_eq(hot_put(plain.view, &at, &after), OK);
		*before = after;
		number = number / HOT_PASSES * HOT_PASSES;
	}
	save();
}

static void fill(void)
{
	for (unsigned index = 0; index < ACCOUNTS; index++)
		while (made[index] < PASSES)
			add(index);
	commit();
}

/* The view holds `want`, of which there are `count`, in every way of asking. */
static void expect(struct view *view, unsigned index, const struct hot *want, unsigned count)
{
	int64_t            updated[HOT_PASSES], balance[HOT_PASSES];
	uint16_t           templates[HOT_PASSES];
	struct hot_columns columns = {.updated = updated, .balance = balance, .template = templates};
	struct hot_at      at;
	struct span        row;
	unsigned           used;
	for (unsigned i = 0; i < count; i++) {
		struct row_key key = key_u32(account_of(index), i / HOT_PASSES);
		unsigned       in_row = i % HOT_PASSES;
		cr_assert_eq(hot_get(view, account_of(index), i, &at), OK);
		cr_assert(same_hot(&at.now, &want[i]), "pass %u", i);
		if (in_row == 0) {
			cr_assert_eq(view_get(view, TABLE_HOT, key_span(&key), &row), OK);
			cr_assert_eq(hot_columns(view, account_of(index), i / HOT_PASSES, &columns, &used),
			             OK);
		}
		struct hot pass = hot_row_pass(row, in_row);
		cr_assert(same_hot(&pass, &want[i]) && in_row < used &&
		          updated[in_row] == want[i].updated.v && balance[in_row] == want[i].balance &&
		          templates[in_row] == want[i].template);
	}
	cr_assert_eq(hot_get(view, account_of(index), count, &at), ERR_NOT_FOUND);
}

static void expect_rows_equal(void)
{
	for (unsigned index = 0; index < ACCOUNTS; index++)
		for (unsigned row = 0; row * HOT_PASSES < made[index]; row++) {
			struct row_key key = key_u32(account_of(index), row);
			struct span    a, b;
			cr_assert_eq(view_get(s.view, TABLE_HOT, key_span(&key), &a), OK);
			cr_assert_eq(view_get(plain.view, TABLE_HOT, key_span(&key), &b), OK);
			cr_assert(span_equal(a, b), "row %u", row);
		}
}

/* To the writer ------------------------------------------------------------------------------------------- */

Test(cells, are_what_rows_would_be)
{
	for (unsigned i = 0; i < 2000; i++) {
		unsigned index = chance_below(&state, ACCOUNTS);
		if (!made[index] || (made[index] < PASSES && chance_below(&state, 3) == 0))
			add(index);
		else
			change(index, chance_below(&state, made[index]));
		if (i % 100 == 0) commit();
		if (i % 50 == 0) expect_rows_equal();
	}
	for (unsigned index = 0; index < ACCOUNTS; index++)
		expect(s.view, index, model[index], made[index]);
	expect_rows_equal();
}

Test(cells, are_not_in_the_tables_before_a_round)
{
	struct view *raw;
	struct span  row;
	fill();
	cr_assert_eq(db_reader_open(s.db, &arena, &raw), OK);
	cr_assert_eq(db_reader_begin(raw), OK);
	struct row_key key = key_u32(account_of(0), 0);
	cr_expect_eq(view_get(raw, TABLE_HOT, key_span(&key), &row), ERR_NOT_FOUND);
	db_reader_close(&raw);
}

static enum err apply(enum write_kind kind, struct row_key key, struct span value, struct patch patch)
{
	struct write write = {.kind = kind,
	                      .table = TABLE_HOT,
	                      .key = key_span(&key),
	                      .value = value,
	                      .patches = &patch,
	                      .patch_count = kind == WRITE_PATCH};
	return db_apply(s.db, &write, false);
}

Test(cells, refuse_what_no_row_allows)
{
	static const uint8_t zeros[HOT_ROW_BYTES + 1];
	uint8_t              row[HOT_ROW_BYTES] = {0};
	struct span          whole = span_of(row, sizeof row), none = {NULL, 0};
	struct row_key       first = key_u32(account_of(0), 0), second = key_u32(account_of(0), 1);
	struct patch         balance = {hot_field_at(HOT_BALANCE, 0), 8, zeros};
	row[HOT_COUNT_USED] = 3;
	cr_expect_eq(apply(WRITE_PATCH, first, none, balance), ERR_DAMAGED, "no such row");
	cr_expect_eq(apply(WRITE_PUT, first, span_of(zeros, HOT_ROW_BYTES), balance), ERR_DAMAGED, "no pass");
	cr_expect_eq(apply(WRITE_PUT, first, span_of(zeros, HOT_ROW_BYTES + 1), balance), ERR_DAMAGED);
	cr_expect_eq(apply(WRITE_PUT, second, whole, balance), ERR_DAMAGED, "numbers have gaps");
	cr_assert_eq(apply(WRITE_PUT, first, whole, balance), OK);
	cr_expect_eq(apply(WRITE_PUT, second, whole, balance), ERR_DAMAGED, "the first row is not full");
	cr_expect_eq(apply(WRITE_DEL, first, none, balance), ERR_UNSUPPORTED);
	cr_expect_eq(apply(WRITE_PUT, key_account(account_of(0)), whole, balance), ERR_DAMAGED);
	cr_expect_eq(apply(WRITE_PATCH, first, none, balance), OK);
	for (unsigned size = 1; size < 9; size++)
		if (size != 8) {
			balance.size = (uint16_t)size;
			cr_expect_eq(apply(WRITE_PATCH, first, none, balance), ERR_DAMAGED, "%u", size);
		}
	balance = (struct patch){hot_field_at(HOT_BALANCE, 3), 8, zeros};
	cr_expect_eq(apply(WRITE_PATCH, first, none, balance), ERR_DAMAGED, "a pass that is not there");
	balance = (struct patch){hot_field_at(HOT_BALANCE, 1) + 4, 8, zeros};
	cr_expect_eq(apply(WRITE_PATCH, first, none, balance), ERR_DAMAGED, "across two passes");
	balance = (struct patch){HOT_ROW_BYTES, 8, zeros};
	cr_expect_eq(apply(WRITE_PATCH, first, none, balance), ERR_DAMAGED, "behind the row");
	balance = (struct patch){0, 7, zeros};
	cr_expect_eq(apply(WRITE_PATCH, first, none, balance), ERR_DAMAGED, "a part of the counts");
}

/* To readers ---------------------------------------------------------------------------------------------- */

static void disturb(unsigned changes)
{
	for (; changes; changes--) {
		unsigned index = chance_below(&state, ACCOUNTS);
		if (chance_below(&state, 10) == 0 && made[index] < PASSES)
			add(index);
		else
			change(index, chance_below(&state, made[index]));
	}
}

Test(cells, show_a_reader_the_commit_that_it_is_of)
{
	static struct hot then[ACCOUNTS][PASSES];
	unsigned          count[ACCOUNTS];
	for (unsigned index = 0; index < ACCOUNTS; index++)
		for (unsigned i = 0; i < 30 + 30 * index; i++)
			add(index);
	for (unsigned turn = 0; turn < 40; turn++) {
		commit();
		memcpy(then, model, sizeof then);
		memcpy(count, made, sizeof count);
		cr_assert_eq(db_reader_begin(reader), OK);
		disturb(chance_below(&state, 100));
		if (turn % 2) commit();
		disturb(chance_below(&state, 100));
		for (unsigned index = 0; index < ACCOUNTS; index++)
			expect(reader, index, then[index], count[index]);
		db_reader_end(reader);
	}
}

Test(cells, that_changed_too_often_are_no_longer_known_to_an_old_view)
{
	struct hot_at at;
	fill();
	cr_assert_eq(db_reader_begin(reader), OK);
	struct hot then = model[0][0], other = model[1][0];
	for (unsigned i = 0; i < UNDO_ENTRIES / 2 - 1; i++)
		change(0, 0);
	cr_expect_eq(hot_get(reader, account_of(0), 0, &at), OK);
	cr_expect(same_hot(&at.now, &then) && !db_reader_is_too_old(reader));
	for (unsigned i = 0; i < UNDO_ENTRIES; i++)
		change(0, 0);
	cr_expect_eq(hot_get(reader, account_of(0), 0, &at), ERR_OVERLOADED);
	cr_expect(db_reader_is_too_old(reader));
	cr_expect_eq(hot_get(reader, account_of(1), 0, &at), OK, "a block that has not changed");
	cr_expect(same_hot(&at.now, &other));
	db_reader_end(reader);
	commit();
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_expect(!db_reader_is_too_old(reader));
	cr_expect_eq(hot_get(reader, account_of(0), 0, &at), OK);
	cr_expect(same_hot(&at.now, &model[0][0]));
}

/* The view may have the tables of txn + 2: LMDB keeps them where those of `txn` were. */
Test(cells, have_no_mark_for_a_view_after_two_more_commits)
{
	uint64_t             mark, txn = 1000;
	struct cells_reader *place = cells_reader_take(cells);
	cr_assert(place);
	cells_commit(cells, txn);
	cr_expect(cells_mark(cells, txn, place, &mark));
	cr_expect_not(cells_mark(cells, txn + 1, place, &mark));
	cells_commit(cells, txn + 1);
	cr_expect(cells_mark(cells, txn, place, &mark));
	cr_expect(cells_mark(cells, txn + 1, place, &mark));
	cells_commit(cells, txn + 2);
	cr_expect_not(cells_mark(cells, txn, place, &mark));
	cr_expect(cells_mark(cells, txn + 1, place, &mark));
	cells_reader_give(&place);
}

/* Rounds -------------------------------------------------------------------------------------------------- */

/* Writes up to `rows` of the round; returns how many. */
static unsigned write_rows(unsigned rows)
{
	static struct row_key before;
	struct account_id     account;
	uint32_t              number;
	uint8_t               row[HOT_ROW_BYTES];
	bool                  stored;
	unsigned              count = 0;
	for (; count < rows && cells_take(cells, &account, &number, row, &stored); count++) {
		struct row_key key = key_u32(account, number);
		cr_expect(count == 0 || span_order(key_span(&before), key_span(&key)) < 0,
		          "in order of keys");
		cr_assert_eq(db_write_late(s.db, account, number, span_of(row, sizeof row), stored), OK);
		before = key;
	}
	return count;
}

Test(cells, are_written_by_rounds_each_once)
{
	enum { ROWS = ACCOUNTS * ((PASSES + HOT_PASSES - 1) / HOT_PASSES) };
	fill();
	cr_expect(cells_dirty(cells) == ROWS && cells_new_rows(cells) == ROWS);
	cells_begin_round(cells);
	cr_expect(cells_dirty(cells) == 0 && cells_left(cells) == ROWS);
	cr_expect_eq(write_rows(ROWS + 1), ROWS);
	cr_expect(cells_left(cells) == 0 && cells_new_rows(cells) == 0);
	expect_tables_equal(TABLE_HOT);
	for (unsigned i = 0; i < 5; i++)
		change(1, 50);
	cr_expect_leq(cells_dirty(cells), 1);
	cells_begin_round(cells);
	cr_expect_eq(write_rows(ROWS), 1);
	expect_tables_equal(TABLE_HOT);
	cells_begin_round(cells);
	cr_expect_eq(write_rows(ROWS), 0);
}

/* A block that changes before its turn is written as it is then; one that changes after it, by the next round. */
Test(cells, that_change_during_a_round_are_written_once_or_again)
{
	fill();
	cells_begin_round(cells);
	cr_expect_eq(write_rows(2), 2);
	change(2, 0);              /* of the first account by keys: written already */
	change(0, 3 * HOT_PASSES); /* of the last: not yet */
	cr_expect_eq(cells_dirty(cells), 2);
	(void)write_rows(1000);
	cr_expect_eq(cells_dirty(cells), 1);
	cells_begin_round(cells);
	cr_expect_eq(write_rows(1000), 1);
	expect_tables_equal(TABLE_HOT);
}

Test(cells, grow_while_rounds_go_on)
{
	for (unsigned turn = 0; turn < 300; turn++) {
		unsigned index = chance_below(&state, ACCOUNTS);
		if (made[index] < PASSES) add(index);
		if (made[0] && made[1] && made[2]) disturb(chance_below(&state, 4));
		if (cells_left(cells) == 0) cells_begin_round(cells);
		(void)write_rows(chance_below(&state, 3));
		if (turn % 10 == 0) commit();
	}
	while (cells_left(cells) || cells_dirty(cells)) {
		if (cells_left(cells) == 0) cells_begin_round(cells);
		(void)write_rows(2);
	}
	expect_tables_equal(TABLE_HOT);
}

/* A row that is damaged on its page is neither read into memory nor replaced. */
Test(cells, of_a_damaged_row_are_damage)
{
	struct raw_row raw;
	struct row_key key = key_u32(account_of(0), 1);
	struct cells  *later;
	struct hot_at  at;
	fill();
	cells_begin_round(cells);
	(void)write_rows(1000);
	cr_assert_eq(view_raw_from(s.view, TABLE_HOT, key_span(&key), &raw), OK);
	*(uint8_t *)(uintptr_t)(raw.stored.at +
	                        100) ^= 1; /* in the open transaction's own copy of the page */
	change(0, HOT_PASSES);
	cells_begin_round(cells);
	struct account_id account;
	uint32_t          number;
	uint8_t           row[HOT_ROW_BYTES];
	bool              stored;
	cr_assert(cells_take(cells, &account, &number, row, &stored) && stored);
	cr_expect_eq(db_write_late(s.db, account, number, span_of(row, sizeof row), stored), ERR_DAMAGED);
	cr_assert_eq(cells_open(&later), OK);
	db_use_cells(s.db, later);
	cr_expect_eq(hot_get(s.view, account_of(0), HOT_PASSES, &at), ERR_DAMAGED);
	cr_expect_eq(hot_get(s.view, account_of(0), 0, &at), OK);
	cells_close(&later);
}
