/* The index of ids: what was put is found, nothing is ever taken for something else, and it grows by single buckets. */
#include "store/id_index.h"

#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { CELLS = 300000, INDEX_PAGE = 2 << 20 };

static struct id_index index_;
static struct siphash *prints; /* of cells */
static uint64_t        state;

static const struct siphash *print_of_cell(const void *user, uint32_t cell)
{
	return (const struct siphash *)user + cell;
}

static void begin(void)
{
	prints = calloc(CELLS, sizeof *prints);
	cr_assert(prints);
	id_index_open(&index_, print_of_cell, prints);
	state = chance_begin();
}

static void end(void)
{
	id_index_close(&index_);
	free(prints);
}

TestSuite(id_index, .init = begin, .fini = end);

/* As the owner of cells does it. */
static void put(uint32_t cell, struct siphash print)
{
	uint32_t other;
	prints[cell] = print;
	if (id_index_put(&index_, print, cell, &other)) prints[other] = (struct siphash){0, 0};
}

static void remove_id(struct siphash print)
{
	uint32_t cell;
	if (id_index_remove(&index_, print, &cell)) prints[cell] = (struct siphash){0, 0};
}

static struct siphash any_print(void)
{
	return (struct siphash){chance(&state), chance(&state)};
}

/* Exactly the cells with a fingerprint are found by it. */
static uint32_t count_found(const struct siphash *wanted, uint32_t count)
{
	uint32_t found = 0, cell;
	for (uint32_t i = 0; i < count; i++) {
		bool is_there = id_index_find(&index_, wanted[i], &cell);
		cr_assert_eq(is_there, is_fingerprint(prints[i]), "cell %u", i);
		cr_assert(!is_there || cell == i);
		found += is_there;
	}
	cr_assert_eq(found, index_.taken);
	return found;
}

Test(id_index, finds_what_was_put_and_takes_little_memory)
{
	struct siphash *wanted = calloc(CELLS, sizeof *wanted);
	cr_expect_eq(id_index_bytes(&index_), 0);
	for (uint32_t i = 0; i < CELLS; i++) {
		wanted[i] = any_print();
		put(i, wanted[i]);
		if (i == 100 || i == 5000 || i == 70000)
			cr_assert_geq(count_found(wanted, i + 1), i / 100 * 97);
	}
	cr_expect_geq(count_found(wanted, CELLS), CELLS / 100 * 97);
	cr_expect_eq(id_index_bytes(&index_), 2 * INDEX_PAGE);
	for (uint32_t i = 0; i < CELLS; i += 2)
		remove_id(wanted[i]);
	count_found(wanted, CELLS);
	for (uint32_t i = 1; i < CELLS; i += 2)
		remove_id(wanted[i]);
	cr_expect_eq(count_found(wanted, CELLS), 0);
	free(wanted);
}

/* Same bucket and same tag, for hundreds of fingerprints that differ in one bit. */
Test(id_index, never_takes_an_id_for_another)
{
	enum { IDS = 400 };
	struct siphash wanted[IDS];
	uint32_t       cell;
	for (unsigned turn = 0; turn < 20; turn++) {
		struct siphash base = any_print();
		for (unsigned i = 0; i < IDS; i++) {
			wanted[i] = base;
			if (i % 2)
				wanted[i].low ^= UINT64_C(1) << (32 + i / 2 % 32);
			else
				wanted[i].high ^= i;
			if (i > 64) wanted[i].low ^= (uint64_t)i << 40;
			cr_assert(!id_index_find(&index_, wanted[i], &cell));
			put(i, wanted[i]);
		}
		cr_expect_geq(count_found(wanted, IDS), 8);
		for (unsigned i = 0; i < IDS; i++)
			remove_id(wanted[i]);
		cr_assert_eq(index_.taken, 0);
	}
}

Test(id_index, goes_on_when_a_bucket_is_full)
{
	struct siphash base = {0, 1}, wanted[100];
	for (unsigned i = 0; i < 100; i++) {
		wanted[i] = base;
		wanted[i].high += (uint64_t)i << 32 | (uint64_t)i << 58;
		put(i, wanted[i]);
		cr_assert(is_fingerprint(prints[i]), "the newest is there");
	}
	cr_expect_eq(count_found(wanted, 100), 16);
}

Test(id_index, leaves_cells_alone_that_are_beyond_its_slots)
{
	uint32_t other = 0;
	cr_expect(id_index_put(&index_, any_print(), ID_INDEX_CELLS, &other));
	cr_expect_eq(other, ID_INDEX_CELLS);
	cr_expect_eq(index_.taken, 0);
}

/* Puts and removals in any order, against an array. */
Test(id_index, is_right_after_any_work)
{
	enum { IDS = 4000 };
	static struct siphash wanted[IDS];
	for (uint32_t i = 0; i < IDS; i++)
		wanted[i] = any_print();
	for (unsigned turn = 0; turn < 200000; turn++) {
		uint32_t i = chance_below(&state, IDS);
		if (is_fingerprint(prints[i]))
			remove_id(wanted[i]);
		else
			put(i, wanted[i]);
		if (turn % 20000 == 0) count_found(wanted, IDS);
	}
	count_found(wanted, IDS);
}
