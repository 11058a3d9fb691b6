/* Pushing data.mdb to the disk: round by round while it changes, and not for nothing. */
#include "tests/unit/support.h"

#include "store/keys.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>

enum { PIECE = 1 << 12 };

static struct scratch          s;
static const struct account_id account = {{1, 2, 3}};
static bool                    disk_failed; /* in the background: whoever waits for it is told, once */

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

static void begin(void)
{
	scratch_open(&s);
}

static void end(void)
{
	scratch_close(&s);
}

TestSuite(push, .init = begin, .fini = end);

static void commit_something(void)
{
	struct row_key key = key_account(account);
	struct write   write = {
	      .kind = WRITE_PUT, .table = TABLE_ACCOUNT, .key = key_span(&key), .value = span_str("value")};
	cr_assert_eq(db_apply(s.db, &write, false), OK);
	scratch_commit(&s);
}

/* Pieces until the end of the round; how many. */
static unsigned round_of(struct db_push *push)
{
	unsigned pieces = 0;
	do {
		cr_assert_eq(db_push(s.db, push, PIECE), OK);
		pieces++;
	} while (push->at);
	return pieces;
}

Test(push, ends_when_all_is_pushed_and_begins_anew_with_the_next_commit)
{
	struct db_push push = {.at = 0};
	commit_something();
	cr_assert_gt(round_of(&push), 2);
	cr_assert(!push.is_done); /* it is known when the next round would begin */
	cr_assert_eq(round_of(&push), 1);
	cr_assert(push.is_done);
	commit_something();
	cr_assert_gt(round_of(&push), 2);
	cr_assert(!push.is_done);
}

/* It may lie where the round has been already. */
Test(push, goes_round_again_for_what_was_committed_meanwhile)
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

Test(push, hears_what_the_disk_said_while_it_changes_and_when_nothing_does)
{
	struct db_push push = {.at = 0};
	commit_something();
	cr_assert_eq(db_push(s.db, &push, PIECE), OK);
	cr_assert_neq(push.at, 0);
	disk_failed = true;
	cr_expect_eq(db_push(s.db, &push, PIECE), ERR_IO, "not only when the round is over");
	while (!push.is_done)
		cr_assert_eq(db_push(s.db, &push, PIECE), OK);
	disk_failed = true; /* the kernel wrote by itself */
	cr_expect_eq(db_push(s.db, &push, PIECE), ERR_IO);
}
