/* Late rows: what the writer finds while they lie in memory, and what rounds write. */
#include "tests/unit/beside.h"

#include "store/late_rows.h"

#include <limits.h>

enum { KEYS = 3000, HASH_BYTES = 32, VALUE_BYTES_MAX = 200 };

TestSuite(late_rows, .init = begin, .fini = end);

static struct row_key key_of(unsigned number)
{
	struct row_key key = key_account(account_of(number % 3));
	uint64_t       hash = number * UINT64_C(0x9e3779b97f4a7c15);
	memset(key.bytes + key.size, 0, HASH_BYTES);
	put_be64(key.bytes + key.size, hash);
	key.size += HASH_BYTES;
	return key;
}

static struct span value_of(unsigned tag)
{
	return filler(tag, tag % VALUE_BYTES_MAX);
}

static void put(unsigned number, unsigned tag)
{
	struct row_key key = key_of(number);
	struct writes *sets[] = {&s.staged, &plain.staged};
	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(write_put(sets[i], TABLE_IDEMPOTENCY, key_span(&key), value_of(tag)), OK);
	save();
}

static void del(unsigned number)
{
	struct row_key key = key_of(number);
	struct writes *sets[] = {&s.staged, &plain.staged};
	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(write_del(sets[i], TABLE_IDEMPOTENCY, key_span(&key)), OK);
	save();
}

static void change_any(unsigned count)
{
	for (; count; count--) {
		unsigned number = chance_below(&state, KEYS);
		if (chance_below(&state, 3))
			put(number, chance_below(&state, 100000));
		else
			del(number);
	}
}

/* Writes up to so many units of those that have been taken. Returns how many. */
static unsigned write_units(unsigned units)
{
	bool     some = true;
	unsigned count = 0;
	for (; count < units && some; count += some)
		cr_assert_eq(late_rows_write_next(s.db, &some), OK);
	return count;
}

static void write_all(void)
{
	(void)late_rows_take(cells);
	(void)write_units(UINT_MAX);
}

static void expect_same(unsigned number)
{
	struct row_key key = key_of(number);
	struct span    got, want;
	enum err       err = view_get(plain.view, TABLE_IDEMPOTENCY, key_span(&key), &want);
	cr_assert_eq(view_get(s.view, TABLE_IDEMPOTENCY, key_span(&key), &got), err, "row %u", number);
	cr_assert_eq(view_exists(s.view, TABLE_IDEMPOTENCY, key_span(&key)), err);
	if (!err) cr_assert(span_equal(got, want), "row %u", number);
}

static void expect_all_same(void)
{
	for (unsigned number = 0; number < KEYS; number++)
		expect_same(number);
}

static bool is_stored(unsigned number)
{
	struct row_key key = key_of(number);
	struct raw_row row;
	enum err       err = view_raw_from(s.view, TABLE_IDEMPOTENCY, key_span(&key), &row);
	return !err && span_equal(row.key, key_span(&key));
}

Test(late_rows, are_what_rows_would_be)
{
	for (unsigned i = 0; i < 1000; i++) {
		change_any(chance_below(&state, 20));
		expect_same(chance_below(&state, KEYS));
		if (chance_below(&state, 20) == 0) (void)late_rows_take(cells);
		if (chance_below(&state, 2)) (void)write_units(chance_below(&state, 3));
		if (chance_below(&state, 8) == 0) commit();
		if (i % 200 == 0) expect_all_same();
	}
	expect_all_same();
	write_all();
	expect_tables_equal(TABLE_IDEMPOTENCY);
	expect_all_same();
	cr_expect(late_rows_dirty(cells) == 0 && late_rows_left(cells) == 0);
	cr_expect(late_rows_fill(cells) == 0 && late_rows_growth(cells) == 0 && cells->rows.bytes == 0);
}

Test(late_rows, of_a_deleted_row_hide_what_the_tables_have)
{
	put(7, 100);
	write_all();
	commit();
	cr_assert(is_stored(7));
	del(7);
	commit();
	expect_same(7);
	cr_expect(is_stored(7), "its deletion is not written yet");
	put(8, 1);
	del(8);
	expect_same(8);
	write_all();
	expect_same(7);
	cr_expect_not(is_stored(7) || is_stored(8));
	del(9);
	write_all();
	expect_tables_equal(TABLE_IDEMPOTENCY);
}

/* As a start does it: LMDB has some of the changes, and all are made once more. */
Test(late_rows, come_to_the_same_when_all_is_done_once_more)
{
	enum { CHANGES = 2000 };
	struct cells *later;
	struct change {
		unsigned number, tag;
	} changes[CHANGES];
	for (unsigned i = 0; i < CHANGES; i++) {
		changes[i] = (struct change){chance_below(&state, KEYS / 8),
		                             chance_below(&state, 3) ? i + 1 : 0};
		if (changes[i].tag)
			put(changes[i].number, changes[i].tag);
		else
			del(changes[i].number);
		if (i % 300 == 0) (void)late_rows_take(cells);
		(void)write_units(i % 16 == 0);
	}
	cr_assert_eq(cells_open(&later), OK);
	db_use_cells(s.db, later);
	for (unsigned i = 0; i < CHANGES; i++) {
		struct row_key key = key_of(changes[i].number);
		struct write   write = {.kind = changes[i].tag ? WRITE_PUT : WRITE_DEL,
		                        .table = TABLE_IDEMPOTENCY,
		                        .key = key_span(&key),
		                        .value = value_of(changes[i].tag)};
		cr_assert_eq(db_apply(s.db, &write, false), OK);
	}
	expect_all_same();
	(void)late_rows_take(later);
	(void)write_units(UINT_MAX);
	expect_tables_equal(TABLE_IDEMPOTENCY);
	db_use_cells(s.db, cells);
	cells_close(&later);
}

Test(late_rows, are_written_in_the_order_of_keys)
{
	for (unsigned i = 0; i < 40 * LATE_ROWS_RUN; i++)
		put(i, i);
	cr_expect_eq(write_units(1), 0, "none was taken");
	cr_expect(late_rows_take(cells));
	cr_expect_not(late_rows_take(cells));
	cr_assert_eq(late_rows_left(cells), 40);
	cr_assert_eq(write_units(10), 10);
	/* So many of the first rows of the other table are there. */
	struct raw_row row, want;
	unsigned       count = 0;
	cr_assert_eq(view_raw_from(plain.view, TABLE_IDEMPOTENCY, span_of(NULL, 0), &want), OK);
	enum err err = view_raw_from(s.view, TABLE_IDEMPOTENCY, span_of(NULL, 0), &row);
	for (; !err; err = view_raw_next(s.view, TABLE_IDEMPOTENCY, &row), count++) {
		cr_assert(span_equal(row.key, want.key));
		cr_assert_eq(view_raw_next(plain.view, TABLE_IDEMPOTENCY, &want), OK);
	}
	cr_expect_eq(count, 10 * LATE_ROWS_RUN);
	/* Those that come later are taken beside what is left. */
	put(1000, 1);
	cr_expect(late_rows_take(cells));
	cr_expect_eq(late_rows_left(cells), 31);
	(void)write_units(UINT_MAX);
	expect_tables_equal(TABLE_IDEMPOTENCY);
}

static enum err apply(enum write_kind kind, struct span key, size_t size)
{
	static const uint8_t zeros[ROW_BYTES_MAX + 1];
	struct patch         patch = {0, 1, zeros};
	struct write         write = {.kind = kind,
	                              .table = TABLE_IDEMPOTENCY,
	                              .key = key,
	                              .value = span_of(zeros, size),
	                              .patches = &patch,
	                              .patch_count = kind == WRITE_PATCH};
	return db_apply(s.db, &write, false);
}

Test(late_rows, refuse_what_no_row_has)
{
	static const uint8_t bytes[KEY_BYTES_MAX + 1];
	struct row_key       key = key_of(1);
	put(1, 50);
	cr_expect_eq(apply(WRITE_PATCH, key_span(&key), 0), ERR_UNSUPPORTED);
	cr_expect_eq(apply(WRITE_PUT, span_of(bytes, 9), 1), ERR_DAMAGED, "an account has ten bytes");
	cr_expect_eq(apply(WRITE_DEL, span_of(bytes, KEY_BYTES_MAX + 1), 0), ERR_DAMAGED);
	cr_expect_eq(apply(WRITE_PUT, key_span(&key), ROW_BYTES_MAX + 1), ERR_DAMAGED);
	cr_expect_eq(apply(WRITE_PUT, key_span(&key), ROW_BYTES_MAX), OK);
	expect_same(2);
}

Test(late_rows, fill_their_memory)
{
	late_rows_bound(cells, 100000);
	cr_expect_eq(late_rows_fill(cells), 0);
	unsigned count = 0;
	while (late_rows_fill(cells) < 1000)
		put(count++, VALUE_BYTES_MAX - 1);
	cr_expect(count > 200 && count < 400, "%u", count);
	uint64_t row = HASH_BYTES + sizeof(struct account_id) + VALUE_BYTES_MAX - 1;
	cr_expect_geq(late_rows_growth(cells), 2 * count * row);
	for (unsigned i = 0; i < count; i++)
		del(i);
	cr_expect_lt(late_rows_fill(cells), 800, "deletions take memory too");
	cr_expect_gt(late_rows_fill(cells), 300);
	cr_expect_eq(late_rows_growth(cells), 0);
	write_all();
	cr_expect_eq(late_rows_fill(cells), 0);
}
