/* actors/shard/pages.h: a process that crashes on damaged tables dies, and the tables are not trusted
 * afterwards. */
#include "actors/shard/pages.h"

#include "store/clean_mark.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The position of the page size in LMDB's two meta pages: after the page's own header and four other
 * fields. */
enum { PAGE = 4096, HEADS = 2, PAGE_SIZE_AT = 16 + 24 };

static struct test_dir test_dir;
static int             db_fd;

static enum err open_tables(struct db **db)
{
	return db_open(db_fd, MAP_BYTES, shop_lineage, db);
}

static void begin(void)
{
	struct db *db;
	test_dir_make(&test_dir);
	cr_assert_eq(mkdirat(test_dir.fd, "db", 0700), 0);
	cr_assert((db_fd = openat(test_dir.fd, "db", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
	cr_assert_eq(open_tables(&db), OK);
	db_close(&db);
	cr_assert_eq(clean_mark_write(test_dir.fd, false), OK);
}

static void end(void)
{
	close(db_fd);
	test_dir_remove(&test_dir);
}

TestSuite(pages, .init = begin, .fini = end);

static enum clean_mark trust_now(void)
{
	bool            present;
	enum clean_mark trust;
	cr_assert_eq(clean_mark_read(test_dir.fd, &present, &trust), OK);
	cr_assert(present);
	return trust;
}

/* A sanitizer's signal handlers would only print a report. */
static void watch(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		signal(numbers[i], SIG_DFL);
	pages_watch(test_dir.fd);
}

static int open_in_child(void *user)
{
	struct db *db;
	(void)user;
	watch();
	return (int)open_tables(&db);
}

static int abort_in_child(void *user)
{
	(void)user;
	watch();
	abort();
}

Test(pages, sound_tables_stay_trusted)
{
	cr_expect_eq(in_child(open_in_child, NULL), OK);
	cr_expect_eq(trust_now(), CLEAN_MARK_OPEN);
}

Test(pages, a_page_size_of_zero_crashes_only_once)
{
	for (size_t head = 0; head < HEADS; head++)
		file_write(&test_dir, "db/data.mdb", head * PAGE + PAGE_SIZE_AT, span_of("\0\0\0\0", 4));
	cr_expect_eq(in_child(open_in_child, NULL), -SIGFPE);
	cr_expect_eq(trust_now(), CLEAN_MARK_NONE, "the next start would crash again");
}

Test(pages, a_failed_assertion_ends_the_trust_too)
{
	cr_expect_eq(in_child(abort_in_child, NULL), -SIGABRT);
	cr_expect_eq(trust_now(), CLEAN_MARK_NONE);
}
