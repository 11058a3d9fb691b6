/* The walk at a start beside the replay of late tables: whichever ends first, what the walk finds decides. Its thread is held
 * back until the start waits for its end. */
#include "tests/unit/shop.h"

#include "store/hot.h"
#include "store/keys.h"
#include "store/ledger.h"

#include <lmdb.h>
#include <pthread.h>
#include <semaphore.h>

enum { PASSES = 5 * HOT_PASSES, POINTS = 7 };
static const struct account_id account = {{'w'}};
static const char              marked[] = "a row that will be damaged";

static struct arena arena;
static bool         is_held_back; /* is the walk to be? */
static pthread_t    this_thread;
static sem_t        is_joined;
static atomic_uint  tables; /* that the walk has begun */
static bool         was_held_back;
static bool         has_joined; /* does the start wait for it? */
static unsigned     changes;    /* starts that came to the point of changes */

int __real_pthread_join(pthread_t thread, void **value);
int __wrap_pthread_join(pthread_t thread, void **value);
int __real_mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op);
int __wrap_mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op);

/* META and the late tables. */
static unsigned early_tables(void)
{
	unsigned count = 1;
	for (unsigned i = 1; i < TABLE_END; i++)
		count += table_is_late((enum table)i);
	return count;
}

int __wrap_pthread_join(pthread_t thread, void **value)
{
	has_joined = true;
	if (is_held_back) sem_post(&is_joined);
	return __real_pthread_join(thread, value);
}

int __wrap_mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op)
{
	bool is_walk = is_held_back && op == MDB_FIRST && !pthread_equal(pthread_self(), this_thread);
	if (is_walk && ++tables == early_tables() + 1) {
		was_held_back = sem_trywait(&is_joined) != 0;
		if (was_held_back) sem_wait(&is_joined);
	}
	return __real_mdb_cursor_get(cursor, key, value, op);
}

static enum err count_change(void *user)
{
	(void)user;
	cr_expect(!is_held_back || has_joined, "a change before the walk has ended");
	changes++;
	return OK;
}

static enum err open_at(const struct test_dir *at)
{
	struct shard_dir place = shop_place(at, true);
	place.before_change = count_change;
	place.snapshot_after_bytes = UINT64_MAX;
	return store_open(&place, (wall_us){1}, &store, &report);
}

static uint64_t events; /* ledger rows */

static void put_event(struct view *view, uint32_t number, enum ledger_what what)
{
	struct ledger_row row = {.number = number, .what = what};
	cr_assert_eq(ledger_put(view, account, ++events, &row), OK);
}

static void add_points(uint32_t number)
{
	struct hot_at at;
	struct writes writes = writes_none(&arena);
	struct view  *view = store_view(store, &writes, &arena);
	cr_assert_eq(hot_get(view, account, number, &at), OK);
	struct hot after = at.now;
	after.balance += POINTS;
	put_event(view, number, LEDGER_LOYALTY);
	cr_assert_eq(hot_put(view, &at, &after), OK);
	shop_save_writes(store, &writes, &arena);
}

/* `copy`: as a kill leaves it. The tables have no points: the journal alone does. */
static void leave_points_in_the_journal(void)
{
	this_thread = pthread_self();
	sem_init(&is_joined, 0, 0);
	cr_assert_eq(open_at(&test_dir), OK);
	for (uint32_t i = 0; i < PASSES; i++) {
		struct writes writes = writes_none(&arena);
		struct view  *view = store_view(store, &writes, &arena);
		cr_assert_eq(hot_add(view, account, i, &(struct hot){.status = 2, .template = 1}), OK);
		put_event(view, i, LEDGER_CREATED);
		shop_save_writes(store, &writes, &arena);
	}
	shop_save(store, TABLE_BODY, key_of(1), span_str(marked));
	cr_assert_eq(store_write_all(store), OK);
	for (uint32_t i = 0; i < PASSES; i++)
		add_points(i);
	cr_assert_eq(store_commit(store), OK);
	cr_assert(store_is_behind(store));
	test_dir_copy(&test_dir, &copy);
	store_close(&store);
	changes = 0;
	has_joined = false;
}

static void end_all(void)
{
	is_held_back = false;
	arena_free(&arena);
	end();
}

TestSuite(start_walk, .init = begin, .fini = end_all);

static void expect_points(void)
{
	struct ledger_row row;
	struct hot_at     at;
	struct view      *view = store_view(store, NULL, &arena);
	for (uint32_t i = 0; i < PASSES; i++) {
		cr_assert_eq(hot_get(view, account, i, &at), OK);
		cr_assert_eq(at.now.balance, POINTS, "pass %u", i);
	}
	for (uint64_t seq = 1; seq <= events; seq++) {
		cr_assert_eq(ledger_get(view, account, seq, &row), OK);
		cr_assert_eq(row.number, (seq - 1) % PASSES);
	}
	cr_assert_eq(ledger_get(view, account, events + 1, &row), ERR_NOT_FOUND);
}

static void damage(struct span bytes)
{
	uint8_t *file;
	size_t   size = file_read(&copy, "db/data.mdb", &file);
	bool     was_found = false;
	for (uint8_t *at = file; (at = memmem(at, size - (size_t)(at - file), bytes.at, bytes.size)); at++) {
		file_flip(&copy, "db/data.mdb", (size_t)(at - file), 1);
		was_found = true;
	}
	cr_assert(was_found);
	free(file);
}

Test(start_walk, ends_after_the_replay_and_finds_nothing)
{
	leave_points_in_the_journal();
	is_held_back = true;
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect(was_held_back && changes == 1);
	cr_expect(!report.rebuilt && report.refused[0] == 0);
	expect_points();
}

Test(start_walk, decides_although_the_replay_was_quicker)
{
	leave_points_in_the_journal();
	damage(span_str(marked));
	is_held_back = true;
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect(was_held_back && changes == 1);
	cr_expect(report.rebuilt && strstr(report.refused, "table body: checksum does not hold"), "%s",
	          report.refused);
	expect_points();
	cr_expect(!shop_get(store, TABLE_BODY, key_of(1), &(struct span){0}));
}

/* Nothing is replayed into a damaged row: it is a walk that says so, as for any other table. */
Test(start_walk, decides_before_the_replay_reads_a_damaged_row)
{
	struct row_key key = key_u32(account, 3);
	leave_points_in_the_journal();
	damage(key_span(&key));
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect(report.rebuilt && strstr(report.refused, "table "), "%s", report.refused);
	expect_points();
}

/* The newest row that the tables have: the replay looks at it before it adds others. */
Test(start_walk, decides_before_the_replay_reads_a_damaged_ledger)
{
	struct row_key key = key_u64(account, PASSES);
	leave_points_in_the_journal();
	damage(key_span(&key));
	cr_assert_eq(open_at(&copy), OK, "%s", report.what);
	cr_expect(report.rebuilt && strstr(report.refused, "table ledger"), "%s", report.refused);
	expect_points();
}

/* The journal refuses a start whatever the tables are; the walk has ended by then. */
Test(start_walk, is_over_when_the_journal_is_damaged)
{
	leave_points_in_the_journal();
	struct found record = find_record(&copy, PASSES + 10);
	file_flip(&copy, record.name, record.at + 60, 1);
	is_held_back = true;
	cr_expect_eq(open_at(&copy), ERR_DAMAGED);
	cr_expect_null(store);
	cr_expect(changes == 0 && report.what[0]);
}
