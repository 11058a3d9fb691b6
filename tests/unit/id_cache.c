/* The writer's cache of pass numbers by id: an id is never taken for another, and written ids are evicted. */
#include "actors/shard/pass/id_cache.h"

#include "schemas/crc32c.h"
#include "schemas/limits.h"
#include "store/table.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const struct account_id account = {{'a'}}, neighbour = {{'b'}};
static struct pass_id_cache    pass_ids;

static void begin(void)
{
	cr_assert_eq(pass_id_cache_open(&pass_ids), OK);
}

static void end(void)
{
	pass_id_cache_close(&pass_ids);
}

TestSuite(id_cache, .init = begin, .fini = end);

static struct row_key key_of(const char *id)
{
	return key_pass_id(account, span_str(id), UINT32_MAX);
}

static void expect(const struct row_key *key, uint32_t want)
{
	uint32_t got;
	cr_assert(pass_id_cache_get(&pass_ids, key, &got));
	cr_expect_eq(got, want);
}

static void expect_none(const struct row_key *key)
{
	uint32_t got;
	cr_expect_not(pass_id_cache_get(&pass_ids, key, &got));
}

/* Writes the index row of pass `number`. */
static void write(const char *id, uint32_t number, enum table table)
{
	struct arena   arena = {0};
	struct writes  writes = writes_none(&arena);
	struct row_key key = key_pass_id(account, span_str(id), number);
	cr_assert_eq(write_put(&writes, TABLE_TALLY, span_str("before"), span_str("")), OK);
	cr_assert_eq(write_put(&writes, table, key_span(&key), span_str("")), OK);
	pass_id_cache_on_writes(&pass_ids, &writes);
	arena_free(&arena);
}

Test(id_cache, are_of_one_account_and_one_id)
{
	struct row_key key = key_of("p1"), longer = key_of("p12"),
	               other = key_pass_id(neighbour, span_str("p1"), 0);
	expect_none(&key);
	pass_id_cache_put(&pass_ids, &key, 7);
	expect(&key, 7);
	expect_none(&longer);
	expect_none(&other);
	pass_id_cache_put(&pass_ids, &key, 8);
	expect(&key, 8);
}

Test(id_cache, are_forgotten_when_the_id_gets_another_pass)
{
	struct row_key key = key_of("p1"), other = key_of("p2");
	pass_id_cache_put(&pass_ids, &key, 7);
	pass_id_cache_put(&pass_ids, &other, 9);
	write("p1", 12, TABLE_NAME);
	expect(&key, 7);
	write("p1", 12, TABLE_PASS_ID);
	expect_none(&key);
	expect(&other, 9);
}

/* Ids that share cache slots; the first is p1. */
static void neighbours(struct row_key *keys, unsigned count)
{
	uint32_t test_dir = 0;
	char     id[32];
	for (unsigned i = 1, found = 0; found < count; i++) {
		snprintf(id, sizeof id, "p%u", i);
		struct row_key key = key_of(id);
		uint32_t       home = crc32c(0, key.bytes, key.size - 4) % PASS_NUMBERS_MIN;
		if (found == 0) test_dir = home;
		if (home == test_dir) keys[found++] = key;
	}
}

Test(id_cache, of_one_slot_are_distinguished)
{
	struct row_key keys[3];
	neighbours(keys, 3);
	pass_id_cache_put(&pass_ids, &keys[0], 7);
	expect_none(&keys[1]);
	pass_id_cache_put(&pass_ids, &keys[1], 9);
	expect(&keys[0], 7);
	expect(&keys[1], 9);
	write("p1", 3, TABLE_PASS_ID);
	expect_none(&keys[0]);
	expect(&keys[1], 9);
	pass_id_cache_put(&pass_ids, &keys[1], 10); /* in its second slot, although the first is free now */
	write("p1", 3, TABLE_PASS_ID);
	expect(&keys[1], 10);
	cr_expect_eq(pass_ids.taken, 1);
	pass_id_cache_put(&pass_ids, &keys[0], 7);
	pass_id_cache_put(&pass_ids, &keys[2], 11);
	expect(&keys[2], 11);
	uint32_t got;
	cr_expect(pass_id_cache_get(&pass_ids, &keys[0], &got) !=
	          pass_id_cache_get(&pass_ids, &keys[1], &got));
	cr_expect_eq(pass_ids.taken, 2);
}

Test(id_cache, of_long_ids_are_not_cached)
{
	char id[PASS_ID_BYTES_MAX + 1] = {0};
	memset(id, 'x', PASS_ID_BYTES_MAX);
	struct row_key key = key_of(id);
	pass_id_cache_put(&pass_ids, &key, 7);
	expect_none(&key);
	write(id, 3, TABLE_PASS_ID);
}

/* A deleted row evicts its number. */
Test(id_cache, are_forgotten_with_their_rows)
{
	struct arena   arena = {0};
	struct writes  writes = writes_none(&arena);
	struct row_key key = key_pass_id(account, span_str("p1"), 7), other = key_of("p2");
	pass_id_cache_put(&pass_ids, &key, 7);
	pass_id_cache_put(&pass_ids, &other, 9);
	cr_assert_eq(write_del(&writes, TABLE_PASS_ID, key_span(&key)), OK);
	pass_id_cache_on_writes(&pass_ids, &writes);
	expect_none(&key);
	expect(&other, 9);
	arena_free(&arena);
}

static uint32_t numbered(const char *id, uint32_t number)
{
	struct row_key key = key_of(id);
	uint32_t       got = 0;
	bool           is_known = pass_id_cache_get(&pass_ids, &key, &got);
	if (!is_known) pass_id_cache_put(&pass_ids, &key, number);
	cr_expect(!is_known || got == number, "%s", id);
	return is_known;
}

/* Most of many ids are cached when they are requested again, a few take little memory, and evicted ones free
 * memory. */
Test(id_cache, grow_with_the_ids_that_are_asked_for)
{
	static const struct {
		uint32_t ids, count_max, turns;
	} rows[] = {{1000, 1 << 12, 3}, {10000, 1 << 16, 3}, {200000, 1 << 20, 3}, {1200000, 1 << 20, 1}};
	char id[32];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint32_t known = 0;
		for (uint32_t turn = 0; turn < rows[i].turns; turn++) {
			known = 0;
			for (uint32_t n = 0; n < rows[i].ids; n++) {
				snprintf(id, sizeof id, "p%u", n);
				known += numbered(id, n + 1);
			}
		}
		if (rows[i].ids <= PASS_NUMBERS_MAX / 4)
			cr_expect_geq(known, rows[i].ids / 100 * 90, "%u of %u", known, rows[i].ids);
		cr_expect_leq(pass_ids.count, rows[i].count_max);
		cr_expect_leq(pass_ids.taken, pass_ids.count);
	}
	for (uint32_t n = 0; n < 1200000; n++) {
		snprintf(id, sizeof id, "p%u", n);
		if (pass_ids.taken) write(id, n + 1, TABLE_PASS_ID);
	}
	cr_expect_eq(pass_ids.taken, 0);
}
