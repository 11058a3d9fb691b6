/* Errors of the disk or LMDB while the tables are served and at the end: the tables are not trusted again. */
#include "tests/unit/shop.h"
#include "tests/unit/patience.h"

#include "store/snapshotter.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_bool sync_fails, writing_back_failed, writes_meet_damage, background_meets_damage,
    background_goes_back;
static pthread_t this_thread;

int __real_mdb_env_sync(MDB_env *env, int force);
int __wrap_mdb_env_sync(MDB_env *env, int force);
int __real_sync_file_range(int fd, off_t at, off_t size, unsigned flags);
int __wrap_sync_file_range(int fd, off_t at, off_t size, unsigned flags);
int __real_mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags);
int __wrap_mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags);
int __real_mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op);
int __wrap_mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op);

int __wrap_mdb_env_sync(MDB_env *env, int force)
{
	return sync_fails ? EIO : __real_mdb_env_sync(env, force);
}

/* The error is returned once. */
int __wrap_sync_file_range(int fd, off_t at, off_t size, unsigned flags)
{
	bool fails = flags & SYNC_FILE_RANGE_WAIT_BEFORE && atomic_exchange(&writing_back_failed, false);
	if (!fails) return __real_sync_file_range(fd, at, size, flags);
	errno = EIO;
	return -1;
}

int __wrap_mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags)
{
	return writes_meet_damage ? MDB_CORRUPTED : __real_mdb_cursor_put(cursor, key, value, flags);
}

int __wrap_mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op)
{
	bool in_background = !pthread_equal(pthread_self(), this_thread);
	bool fails = background_meets_damage && op != MDB_SET && in_background;
	if (background_goes_back && op == MDB_NEXT && in_background) op = MDB_FIRST;
	return fails ? MDB_PAGE_NOTFOUND : __real_mdb_cursor_get(cursor, key, value, op);
}

static void begin_here(void)
{
	begin();
	this_thread = pthread_self();
	open_ok(&test_dir);
	save(1, 100);
	cr_assert_eq(store_commit(store), OK);
}

TestSuite(store_distrust, .init = begin_here, .fini = end);

static void expect_anew(void)
{
	open_ok(&test_dir);
	cr_expect(report.rebuilt);
	cr_expect(holds(1, 100));
}

Test(store_distrust, after_a_failed_last_sync)
{
	sync_fails = true;
	store_close(&store);
	sync_fails = false;
	expect_anew();
}

Test(store_distrust, after_a_failed_write_back)
{
	writing_back_failed = true;
	for (int i = 0; i < patience_ms(5000) && !store_settle(store); i++)
		usleep(1000);
	cr_expect_eq(store_settle(store), ERR_IO);
	cr_expect(store_blames_tables(store, ERR_IO));
	store_close(&store);
	expect_anew();
}

Test(store_distrust, after_a_write_found_damage_whatever_the_error_code)
{
	struct arena  arena = {0};
	struct writes writes = {.arena = &arena};
	cr_assert_eq(write_put(&writes, TABLE_BODY, key_of(2), span_str("x")), OK);
	cr_expect_not(store_blames_tables(store, ERR_IO));
	writes_meet_damage = true;
	cr_expect_eq(store_apply(store, &writes), ERR_DAMAGED);
	writes_meet_damage = false;
	cr_expect(store_blames_tables(store, ERR_IO));
	arena_free(&arena);
}

static void expect_no_snapshot(void)
{
	struct snapshotter_state state = {.running = true};
	uint64_t                 number;
	cr_assert_eq(snapshotter_ask(store_snapshotter(store), JOB_SNAPSHOT, span_str(""), &number), OK);
	for (int i = 0; i < patience_ms(20000) && state.running; i++) {
		usleep(1000);
		snapshotter_state(store_snapshotter(store), &state);
	}
	cr_expect_eq(state.err, ERR_DAMAGED);
	cr_expect(snapshotter_found_damage(store_snapshotter(store)));
}

Test(store_distrust, after_a_snapshot_could_not_read_pages)
{
	background_meets_damage = true;
	expect_no_snapshot();
	background_meets_damage = false;
	store_close(&store);
	expect_anew();
}

Test(store_distrust, after_rows_were_found_out_of_order)
{
	for (unsigned i = 2; i < 6; i++)
		save(i, 100);
	cr_assert_eq(store_commit(store), OK);
	background_goes_back = true;
	expect_no_snapshot();
	background_goes_back = false;
}
