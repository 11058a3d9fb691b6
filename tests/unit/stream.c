/* store/stream.h: a stream returns every row of a table once and in order. */
#include "tests/unit/support.h"

#include "schemas/limits.h"
#include "store/stream.h"

#include <criterion/criterion.h>

enum { ROWS = 6000 };

static struct scratch          s;
static struct view            *reader;
static struct arena            arena;
static const struct account_id account = {{'m'}}, before = {{'a'}}, behind = {{'z'}};
static bool                    is_there[ROWS];

static void stage(enum table table, struct account_id of, uint32_t number, size_t size)
{
	struct row_key key = key_u32(of, number);
	cr_assert_eq(write_put(&s.staged, table, key_span(&key), filler(number, size)), OK);
	scratch_save(&s);
}

static void remove_row(enum table table, uint32_t number)
{
	struct row_key key = key_u32(account, number);
	cr_assert_eq(write_del(&s.staged, table, key_span(&key)), OK);
	scratch_save(&s);
	is_there[number] = false;
}

static void begin(void)
{
	scratch_open(&s);
	arena = (struct arena){0};
	cr_assert_eq(db_reader_open(s.db, &arena, &reader), OK);
}

static void end(void)
{
	db_reader_close(&reader);
	arena_free(&arena);
	scratch_close(&s);
}

TestSuite(stream, .init = begin, .fini = end);

/* Written in no order over several transactions, so that pages are scattered. */
static void furnish(enum table table, size_t size, unsigned rows)
{
	uint64_t state = chance_begin();
	stage(table, before, 7, size);
	stage(table, behind, 7, size);
	for (unsigned i = 0; i < rows; i++) {
		uint32_t number = (uint32_t)((uint64_t)i * 2053 % rows);
		stage(table, account, number, size);
		is_there[number] = true;
		if (i % 500 == 0) scratch_commit(&s);
	}
	for (unsigned i = 0; i < rows / 8; i++) {
		remove_row(table, chance_below(&state, rows));
		if (i % 100 == 0) scratch_commit(&s);
	}
	scratch_commit(&s);
	cr_assert_eq(db_reader_begin(reader), OK);
}

static uint32_t next_there(uint32_t number, unsigned rows)
{
	while (number < rows && !is_there[number])
		number++;
	return number;
}

static bool is_row(const struct view_row *row, uint32_t number, size_t size)
{
	struct row_key key = key_u32(account, number);
	return span_equal(row->key, key_span(&key)) && span_equal(row->value, filler(number, size));
}

static void goes_through_all(uint32_t from, unsigned room, size_t size)
{
	struct row_key  key = key_u32(account, from);
	struct stream   stream = stream_from(reader, TABLE_HOT, &key);
	struct view_row rows[32];
	unsigned        count = room;
	uint32_t        number = from;
	bool            ended = false;
	while (count == room && !ended) {
		cr_assert_eq(stream_next(&stream, rows, room, &count), OK);
		for (unsigned i = 0; i < count && !ended; i++) {
			ended = (number = next_there(number, ROWS)) == ROWS;
			cr_assert(ended || is_row(&rows[i], number, size), "row %u", number);
			number += !ended;
		}
	}
	cr_expect_eq(next_there(number, ROWS), ROWS, "ended before row %u", next_there(number, ROWS));
}

Test(stream, shows_every_row_once_and_in_order)
{
	furnish(TABLE_HOT, 300, ROWS);
	for (unsigned i = 0; i < 20; i++)
		goes_through_all(i * (ROWS / 20) + i, 1 + i * 3 % 32, 300);
}

Test(stream, puts_values_of_several_parts_together)
{
	enum { FEW = 300 };
	struct buffer   room = {0};
	struct view_row row;
	furnish(TABLE_TEXT, 5000, FEW);
	struct row_key key = key_u32(account, 0);
	struct stream  stream = stream_from(reader, TABLE_TEXT, &key);
	for (uint32_t n = next_there(0, FEW); n < FEW; n = next_there(n + 1, FEW)) {
		cr_assert_eq(stream_next_parted(&stream, &room, &row), OK);
		cr_expect(is_row(&row, n, 5000), "value %u", n);
	}
	buffer_free(&room);
}

Test(stream, shows_uncommitted_rows_to_the_writer)
{
	struct row_key  key = key_u32(account, 0);
	struct view_row rows[4];
	unsigned        count;
	stage(TABLE_HOT, account, 0, 10);
	stage(TABLE_HOT, account, 1, 10);
	struct stream stream = stream_from(s.view, TABLE_HOT, &key);
	cr_assert_eq(stream_next(&stream, rows, 4, &count), OK);
	cr_expect_eq(count, 2);
	cr_assert_eq(stream_next(&stream, rows, 4, &count), OK);
	cr_expect_eq(count, 0);
}

Test(stream, of_an_empty_table_has_no_rows)
{
	struct row_key  key = key_u32(account, 0);
	struct stream   stream = stream_from(reader, TABLE_HOT, &key);
	struct view_row row;
	unsigned        count;
	cr_assert_eq(db_reader_begin(reader), OK);
	cr_assert_eq(stream_next(&stream, &row, 1, &count), OK);
	cr_expect_eq(count, 0);
}
