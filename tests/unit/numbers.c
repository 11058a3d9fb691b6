/* The numbers of passes that the writer need not look up: an id is never taken for another, and what was written is
 * forgotten. */
#include "actors/shard/pass/numbers.h"

#include "schemas/crc32c.h"
#include "schemas/limits.h"
#include "store/table.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const struct account_id account = {{'a'}}, neighbour = {{'b'}};
static struct pass_numbers     numbers;

static void begin(void)
{
	cr_assert_eq(numbers_open(&numbers), OK);
}

static void end(void)
{
	numbers_close(&numbers);
}

TestSuite(numbers, .init = begin, .fini = end);

static struct row_key key_of(const char *id)
{
	return key_pass_id(account, span_str(id), UINT32_MAX);
}

static void expect(const struct row_key *key, uint32_t want)
{
	uint32_t got;
	cr_assert(numbers_get(&numbers, key, &got));
	cr_expect_eq(got, want);
}

static void expect_none(const struct row_key *key)
{
	uint32_t got;
	cr_expect_not(numbers_get(&numbers, key, &got));
}

/* The index row of pass `number` is written. */
static void write(const char *id, uint32_t number, enum table table)
{
	struct arena   arena = {0};
	struct writes  writes = writes_none(&arena);
	struct row_key key = key_pass_id(account, span_str(id), number);
	cr_assert_eq(write_put(&writes, TABLE_TALLY, span_str("before"), span_str("")), OK);
	cr_assert_eq(write_put(&writes, table, key_span(&key), span_str("")), OK);
	numbers_saw(&numbers, &writes);
	arena_free(&arena);
}

Test(numbers, are_of_one_account_and_one_id)
{
	struct row_key key = key_of("p1"), longer = key_of("p12"),
	               other = key_pass_id(neighbour, span_str("p1"), 0);
	expect_none(&key);
	numbers_put(&numbers, &key, 7);
	expect(&key, 7);
	expect_none(&longer);
	expect_none(&other);
	numbers_put(&numbers, &key, 8);
	expect(&key, 8);
}

Test(numbers, are_forgotten_when_the_id_gets_another_pass)
{
	struct row_key key = key_of("p1"), other = key_of("p2");
	numbers_put(&numbers, &key, 7);
	numbers_put(&numbers, &other, 9);
	write("p1", 12, TABLE_NAME);
	expect(&key, 7);
	write("p1", 12, TABLE_PASS_ID);
	expect_none(&key);
	expect(&other, 9);
}

Test(numbers, of_one_place_do_not_stand_for_each_other)
{
	struct row_key key = key_of("p1"), other;
	size_t         size = key.size - 4;
	uint32_t       place = crc32c(0, key.bytes, size) % PASS_NUMBERS_MAX;
	char           id[32];
	unsigned       i = 2;
	do {
		snprintf(id, sizeof id, "p%u", i++);
		other = key_of(id);
	} while (crc32c(0, other.bytes, other.size - 4) % PASS_NUMBERS_MAX != place);
	numbers_put(&numbers, &key, 7);
	expect_none(&other);
	write(id, 3, TABLE_PASS_ID);
	expect(&key, 7);
	numbers_put(&numbers, &other, 9);
	expect(&other, 9);
	expect_none(&key);
}

Test(numbers, of_long_ids_are_not_kept)
{
	char id[PASS_ID_BYTES_MAX + 1] = {0};
	memset(id, 'x', PASS_ID_BYTES_MAX);
	struct row_key key = key_of(id);
	numbers_put(&numbers, &key, 7);
	expect_none(&key);
	write(id, 3, TABLE_PASS_ID);
}

/* A row that goes takes its number with it. */
Test(numbers, are_forgotten_with_their_rows)
{
	struct arena   arena = {0};
	struct writes  writes = writes_none(&arena);
	struct row_key key = key_pass_id(account, span_str("p1"), 7), other = key_of("p2");
	numbers_put(&numbers, &key, 7);
	numbers_put(&numbers, &other, 9);
	cr_assert_eq(write_del(&writes, TABLE_PASS_ID, key_span(&key)), OK);
	numbers_saw(&numbers, &writes);
	expect_none(&key);
	expect(&other, 9);
	arena_free(&arena);
}
