/* Writing data.mdb back to the disk: in rounds while it changes, and not without need. */
#include "tests/unit/support.h"

#include "store/keys.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>

enum { PIECE = 1 << 12 };

SCRATCH_SUITE(push);
static const struct account_id account = {{1, 2, 3}};
static bool                    disk_failed; /* in the background; the waiting thread is notified once */

int __real_sync_file_range(int fd, off_t at, off_t size, unsigned flags);
int __wrap_sync_file_range(int fd, off_t at, off_t size, unsigned flags);

int __wrap_sync_file_range(int fd, off_t at, off_t size, unsigned flags)
{
	bool fails = disk_failed && (flags & SYNC_FILE_RANGE_WAIT_BEFORE);
	if (!fails) return __real_sync_file_range(fd, at, size, flags);
	disk_failed = false;
	errno = EIO;
	return -1;
}

static void commit_something(void)
{
	struct row_key key = key_account(account);
	struct write   write = {
	      .kind = WRITE_PUT, .table = TABLE_ACCOUNT, .key = key_span(&key), .value = span_str("value")};
	cr_assert_eq(db_apply(s.db, &write, false), OK);
	scratch_commit(&s);
}

/* Writes pieces until the end of the round. Returns their number. */
static unsigned round_of(struct db_push *push)
{
	unsigned pieces = 0;
	do {
		cr_assert_eq(db_push(s.db, push, PIECE), OK);
		pieces++;
	} while (push->at);
	return pieces;
}

Test(push, ends_when_everything_is_written_and_restarts_with_the_next_commit)
{
	struct db_push push = {.at = 0};
	commit_something();
	cr_assert_gt(round_of(&push), 2);
	cr_assert(!push.is_done); /* the next round's start time is known */
	cr_assert_eq(round_of(&push), 1);
	cr_assert(push.is_done);
	commit_something();
	cr_assert_gt(round_of(&push), 2);
	cr_assert(!push.is_done);
}

/* The changed page may be in a part that the round has already written. */
Test(push, does_another_round_for_commits_made_meanwhile)
{
	struct db_push push = {.at = 0};
	commit_something();
	cr_assert_eq(db_push(s.db, &push, PIECE), OK);
	cr_assert_neq(push.at, 0);
	commit_something();
	round_of(&push);
	cr_assert_gt(round_of(&push), 2);
	cr_assert(!push.is_done);
	round_of(&push);
	cr_assert(push.is_done);
}

Test(push, detects_disk_errors_with_and_without_changes)
{
	struct db_push push = {.at = 0};
	commit_something();
	cr_assert_eq(db_push(s.db, &push, PIECE), OK);
	cr_assert_neq(push.at, 0);
	disk_failed = true;
	cr_expect_eq(db_push(s.db, &push, PIECE), ERR_IO, "not only when the round is over");
	while (!push.is_done)
		cr_assert_eq(db_push(s.db, &push, PIECE), OK);
	disk_failed = true; /* the kernel wrote it by itself */
	cr_expect_eq(db_push(s.db, &push, PIECE), ERR_IO);
}
