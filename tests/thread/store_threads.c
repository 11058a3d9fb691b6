/* All threads of the store at the same time: the writer decides and commits, the journal's threads sync and
 * create segments, the disk_monitor checks the disk, the snapshotter makes, verifies and exports snapshots,
 * and a reader reads. A program without a test framework, for the thread sanitizer. It also checks that a
 * reader sees only complete commands, that a cached row stays valid as long as the store says so, and that
 * nothing is missing at the end. */
#include "tests/unit/support.h"

#include "schemas/bytes.h"
#include "schemas/crc32c.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 300, RECORDS = 1500, SIZE = 700, JOBS_LEAST = 6 };

static struct test_dir test_dir, elsewhere;
static struct store   *store;
static atomic_bool     done;
static atomic_uint     looks, standing; /* rows that equalled their cached copies */

/* For rows with a number in their account, whose time of writing is recorded. */
enum { KEY_BYTES = sizeof(struct account_id) + 4 };
static const struct account_id account = {{'a'}};

static struct span key_of(unsigned i, uint8_t bytes[KEY_BYTES])
{
	memcpy(bytes, account.b, sizeof account.b);
	put_be32(bytes + sizeof account.b, i);
	return span_of(bytes, KEY_BYTES);
}

static void value_of(uint32_t round, uint8_t bytes[SIZE])
{
	for (unsigned i = 0; i < SIZE; i += 4)
		put_le32(bytes + i, round + i);
}

/* A reader's copy of a row is valid as long as the row has not been written since the copy's moment. */
struct kept_row {
	uint64_t moment; /* 0: nothing is cached */
	bool     exists;
	uint32_t sum;
};

static void hold_against(struct kept_row *kept, struct view *view, unsigned i, const struct span *value)
{
	uint32_t sum = value ? crc32c(0, value->at, value->size) : 0;
	uint64_t row_txns[VIEW_ROWS];
	view_row_moments(view, TABLE_STATUS, account, i / VIEW_ROWS, row_txns);
	bool stands = kept->moment && row_txns[i % VIEW_ROWS] <= kept->moment;
	must(!stands || (kept->exists == (value != NULL) && kept->sum == sum));
	atomic_fetch_add(&standing, stands);
	*kept = (struct kept_row){view_txn(view), value != NULL, sum};
}

/* Rows 2n and 2n + 1 are always written by one command, with the same value. */
static void *read_on(void *data)
{
	static struct kept_row kept[ROWS];
	struct arena           arena = {0};
	struct view           *view;
	uint8_t                key[KEY_BYTES];
	(void)data;
	must(!store_reader_open(store, &arena, &view));
	while (!atomic_load(&done)) {
		must(!store_reader_begin(view));
		for (unsigned i = 0; i < ROWS; i += 2) {
			struct span a, b;
			enum err    err = view_get(view, TABLE_STATUS, key_of(i, key), &a);
			must(err == view_get(view, TABLE_STATUS, key_of(i + 1, key), &b));
			must(err == ERR_NOT_FOUND || (!err && span_equal(a, b)));
			hold_against(&kept[i], view, i, err ? NULL : &a);
		}
		store_reader_end(view);
		arena_reset(&arena);
		atomic_fetch_add(&looks, 1);
	}
	store_reader_close(&view);
	arena_free(&arena);
	return NULL;
}

static void write_pair(unsigned pair, uint32_t round)
{
	struct arena  arena = {0};
	struct writes writes = {.arena = &arena};
	uint8_t       key[KEY_BYTES], value[SIZE];
	value_of(round, value);
	for (unsigned i = 0; i < 2; i++)
		must(!write_put(&writes, TABLE_STATUS, key_of(2 * pair + i, key), span_of(value, SIZE)));
	must(!store_apply(store, &writes));
	arena_free(&arena);
}

/* The turns of a shard: submit when the journal is free, commit when everything is durable. */
static void turn(uint32_t round)
{
	while (store_open_bytes(store) && !store_can_submit(store)) {
		must(!store_settle(store));
		usleep(20);
	}
	if (store_open_bytes(store)) store_submit(store, (wall_us){round});
	if (round % 3) return;
	while (store_is_syncing(store)) {
		(void)store_is_quick(store); /* the engine checks this while records are outstanding */
		must(!store_settle(store));
		usleep(20);
	}
	must(!store_commit(store));
	must(store_room(store) == DISK_FOR_ALL);
}

/* Starts the next job when the last one is done. Counts finished jobs. */
static unsigned rpc(unsigned jobs, const char *dir)
{
	static const enum snapshot_job kinds[] = {JOB_SNAPSHOT, JOB_VERIFY, JOB_BACKUP};
	struct snapshotter_state       state;
	uint64_t                       number;
	snapshotter_state(store_snapshotter(store), &state);
	if (state.running) return jobs;
	must(state.number == 0 || !state.err || state.what == JOB_BACKUP);
	if (kinds[jobs % 3] == JOB_BACKUP) {
		test_dir_remove(&elsewhere);
		test_dir_make(&elsewhere);
		must(realpath(elsewhere.path, (char *)(uintptr_t)dir));
	}
	must(!snapshotter_ask(store_snapshotter(store), kinds[jobs % 3],
	                      span_str(kinds[jobs % 3] == JOB_BACKUP ? dir : ""), &number));
	return jobs + 1;
}

static void expect_all(const uint32_t rounds[ROWS / 2])
{
	uint8_t     key[KEY_BYTES], value[SIZE];
	struct span got;
	for (unsigned i = 0; i < ROWS; i++) {
		value_of(rounds[i / 2], value);
		must(!shop_get(store, TABLE_STATUS, key_of(i, key), &got) &&
		     span_equal(got, span_of(value, SIZE)));
	}
}

int main(void)
{
	struct store_report report;
	pthread_t           reader;
	uint32_t            rounds[ROWS / 2] = {0};
	unsigned            jobs = 0;
	char                dir[PATH_MAX];
	uint64_t            state = chance_begin();
	test_dir_make(&test_dir);
	test_dir_make(&elsewhere);
	struct shard_dir at = shop_place(&test_dir, true);
	at.snapshot_after_bytes = 1 << 20;
	at.quick_sync_us = -1; /* no sync is that quick: the journal's own thread makes them */
	must(!store_open(&at, (wall_us){1}, &store, &report));
	must(!pthread_create(&reader, NULL, read_on, NULL));
	for (uint32_t round = 1; round <= RECORDS || jobs < JOBS_LEAST; round++) {
		unsigned pair = chance_below(&state, ROWS / 2);
		write_pair(pair, round);
		rounds[pair] = round;
		turn(round);
		jobs = rpc(jobs, dir);
	}
	atomic_store(&done, true);
	must(!pthread_join(reader, NULL));
	shop_settle(store);
	for (unsigned i = 0; i < ROWS / 2; i++)
		if (!rounds[i]) write_pair(i, 0);
	turn(3);
	expect_all(rounds);
	store_close(&store);
	must(!store_open(&at, (wall_us){1}, &store, &report));
	expect_all(rounds);
	store_close(&store);
	test_dir_remove(&test_dir);
	test_dir_remove(&elsewhere);
	printf("%u jobs, %u looks, %u rows as they had been kept\n", jobs, atomic_load(&looks),
	       atomic_load(&standing));
	must(atomic_load(&standing) > 0);
	return 0;
}
