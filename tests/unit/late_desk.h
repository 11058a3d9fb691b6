/* A store of one account with passes, whose points and ledger rows are known, for tests of late tables.
 * Criterion runs each test in its own process, so these can be static. */
#pragma once
#include "tests/unit/shop.h"

#include "store/hot.h"
#include "store/idempotency.h"
#include "store/keys.h"
#include "store/late_rows.h"
#include "store/ledger.h"
#include "store/store_inside.h"
#include "store/tails.h"

enum { ROUND = 64 << 10, SLICE = 2, PASSES = 12 * HOT_PASSES };

static const struct account_id account = {{'l'}};
static struct arena            arena;
static int64_t                 model[PASSES];             /* points */
static uint64_t                events;                    /* ledger rows */
static uint64_t                tails_bytes;               /* of the store's setting, */
static uint64_t                rows_bytes;                /* likewise, of late rows */
static unsigned                memory_blocks;             /* likewise; 0: any number */
static uint64_t                keys_first = 1, keys_last; /* idempotency keys: from the oldest that is kept */

static void finish(void)
{
	arena_free(&arena);
	end();
}

static enum err open_at(const struct test_dir *at)
{
	struct shard_dir place = shop_place(at, true);
	place.memory_blocks = memory_blocks;
	place.quick_sync_us = INT64_MAX; /* all are: slices are of so few rows then */
	place.late_round_bytes = ROUND;
	place.late_slice_rows = SLICE;
	place.late_tails_bytes = tails_bytes;
	place.late_rows_bytes = rows_bytes;
	place.snapshot_after_bytes = UINT64_MAX; /* only when asked for */
	return store_open(&place, (wall_us){1}, &store, &report);
}

static void make_passes(void)
{
	for (uint32_t i = 0; i < PASSES;) {
		struct writes writes = writes_none(&arena);
		struct view  *view = store_view(store, &writes, &arena);
		for (unsigned k = 0; k < 10; k++, i++)
			cr_assert_eq(hot_add(view, account, i, &(struct hot){.status = 2, .template = 1}),
			             OK);
		shop_save_writes(store, &writes, &arena);
	}
}

/* So often, in one command. */
static void add_points_often(uint32_t number, int64_t points, unsigned times)
{
	struct hot_at at;
	struct writes writes = writes_none(&arena);
	struct view  *view = store_view(store, &writes, &arena);
	cr_assert_eq(hot_get(view, account, number, &at), OK);
	struct hot after = at.now;
	for (; times; times--) {
		after.balance += points;
		after.updated.v++;
		struct ledger_row row = {.number = number,
		                         .what = LEDGER_LOYALTY,
		                         .previous = after.ledger_head,
		                         .delta = points,
		                         .balance = after.balance};
		after.ledger_head = ++events;
		cr_assert_eq(ledger_put(view, account, events, &row), OK);
	}
	model[number] = after.balance;
	cr_assert_eq(hot_put(view, &at, &after), OK);
	shop_save_writes(store, &writes, &arena);
}

static inline void add_points(uint32_t number, int64_t points)
{
	add_points_often(number, points, 1);
}

static void expect_events(struct view *view)
{
	static int64_t    sums[PASSES];
	struct ledger_row row;
	uint64_t          last;
	memset(sums, 0, sizeof sums);
	cr_assert_eq(ledger_last(view, account, &last), OK);
	cr_assert_eq(last, events);
	for (uint64_t seq = 1; seq <= last; seq++) {
		cr_assert_eq(ledger_get(view, account, seq, &row), OK, "row %llu", (unsigned long long)seq);
		sums[row.number] += row.delta;
		cr_assert_eq(row.balance, sums[row.number]);
	}
	cr_assert(!memcmp(sums, model, sizeof sums));
	cr_assert_eq(ledger_get(view, account, last + 1, &row), ERR_NOT_FOUND);
}

static void expect_points(void)
{
	struct hot_at at;
	struct view  *view = store_view(store, NULL, &arena);
	for (uint32_t i = 0; i < PASSES; i++) {
		cr_assert_eq(hot_get(view, account, i, &at), OK);
		cr_assert_eq(at.now.balance, model[i], "pass %u: %lld, not %lld", i,
		             (long long)at.now.balance, (long long)model[i]);
	}
	expect_events(view);
	arena_reset(&arena);
}

/* Idempotency keys. The key of a number is found by it alone. */
static const uint8_t *key_hash(uint64_t number)
{
	static uint8_t hash[32];
	put_be64(hash, number * UINT64_C(0x9e3779b97f4a7c15));
	return hash;
}

/* So many in one command, and some of the oldest go. */
static inline void add_keys(unsigned count, unsigned gone)
{
	struct idempotency_order old = {.order = 0};
	struct writes            writes = writes_none(&arena);
	struct view             *view = store_view(store, &writes, &arena);
	for (; gone; gone--) {
		old.order = keys_first++;
		memcpy(old.key, key_hash(old.order), sizeof old.key);
		cr_assert_eq(idempotency_del(view, account, &old), OK);
	}
	for (; count; count--) {
		keys_last++;
		struct idempotency_row row = {.order = keys_last, .at = {(int64_t)keys_last}};
		cr_assert_eq(idempotency_put(view, account, key_hash(row.order), &row), OK);
	}
	shop_save_writes(store, &writes, &arena);
}

static inline void expect_keys(void)
{
	struct view           *view = store_view(store, NULL, &arena);
	struct idempotency_row row;
	for (uint64_t number = 1; number <= keys_last + 1; number++) {
		bool     is_kept = number >= keys_first && number <= keys_last;
		enum err err = idempotency_get(view, account, key_hash(number), &row);
		cr_assert_eq(err, is_kept ? OK : ERR_NOT_FOUND, "key %llu", (unsigned long long)number);
		if (is_kept) cr_assert(row.order == number && row.at.v == (int64_t)number);
	}
	arena_reset(&arena);
}

/* As the tables say. */
static struct standing standing_now(void)
{
	struct standing standing;
	struct view    *raw;
	cr_assert_eq(db_reader_open(store_tables(store), &arena, &raw), OK);
	cr_assert_eq(db_reader_begin(raw), OK);
	cr_assert_eq(db_standing(raw, &standing), OK);
	db_reader_close(&raw);
	return standing;
}

/* Everything written once; nothing is behind. */
static void begin_written(void)
{
	cr_assert_eq(open_at(&test_dir), OK);
	make_passes();
	cr_assert_eq(store_write_all(store), OK);
	cr_expect_not(store_is_behind(store));
}

/* Records of points, a page of the journal each, until so many bytes of it have been written. */
static void add_bytes(unsigned bytes)
{
	static uint64_t luck = 1;
	for (unsigned i = 0; i < bytes; i += RECORD_ALIGN)
		add_points(chance_below(&luck, PASSES), 1 + chance_below(&luck, 9));
}

static inline unsigned keys_on_disk(void)
{
	struct view   *raw;
	struct raw_row row;
	unsigned       count = 0;
	cr_assert_eq(db_reader_open(store_tables(store), &arena, &raw), OK);
	cr_assert_eq(db_reader_begin(raw), OK);
	enum err err = view_raw_from(raw, TABLE_IDEMPOTENCY, span_of(NULL, 0), &row);
	for (; !err; err = view_raw_next(raw, TABLE_IDEMPOTENCY, &row))
		count++;
	db_reader_close(&raw);
	return count;
}

static uint64_t rows_on_disk(void)
{
	struct view *raw;
	uint64_t     last;
	cr_assert_eq(db_reader_open(store_tables(store), &arena, &raw), OK);
	cr_assert_eq(db_reader_begin(raw), OK);
	cr_assert_eq(ledger_last(raw, account, &last), OK);
	db_reader_close(&raw);
	return last;
}

enum {
	FEW_ROWS = 48 * TAIL_RUN_ROWS,
	FEW_ROWS_BYTES = 48 * (64 + 48 * TAIL_RUN_ROWS)
}; /* an eighth of it is for written ones */
