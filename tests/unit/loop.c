/* The result of a wait: which of its descriptors were readable. */
#include "actors/rt/loop.h"

#include <criterion/criterion.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FDS = LOOP_READY_MAX + 2 };

static struct loop loop = {-1};
static int         fds[FDS];

static void begin(void)
{
	cr_assert_eq(loop_open(&loop), OK);
	for (unsigned i = 0; i < FDS; i++) {
		cr_assert_geq(fds[i] = eventfd(0, EFD_NONBLOCK), 0);
		cr_assert_eq(loop_watch(&loop, fds[i]), OK);
	}
}

static void end(void)
{
	for (unsigned i = 0; i < FDS; i++)
		close(fds[i]);
	loop_close(&loop);
}

TestSuite(loop, .init = begin, .fini = end);

static void make_readable(unsigned i)
{
	uint64_t one = 1;
	cr_assert_eq(write(fds[i], &one, sizeof one), (ssize_t)sizeof one);
}

Test(loop, reports_readable_descriptors)
{
	make_readable(1);
	make_readable(4);
	loop_wait(&loop, (dur_us){3 * US_PER_SEC});
	for (unsigned i = 0; i < FDS; i++)
		cr_expect_eq(loop_is_ready(&loop, fds[i]), i == 1 || i == 4);
}

Test(loop, forgets_them_at_the_next_wait)
{
	uint64_t count;
	make_readable(2);
	loop_wait(&loop, (dur_us){3 * US_PER_SEC});
	cr_assert(loop_is_ready(&loop, fds[2]));
	cr_assert_eq(read(fds[2], &count, sizeof count), (ssize_t)sizeof count);
	loop_wait(&loop, (dur_us){0});
	cr_expect_not(loop_is_ready(&loop, fds[2]));
}

Test(loop, reports_any_as_possible_if_too_many_are_readable)
{
	for (unsigned i = 0; i < LOOP_READY_MAX; i++)
		make_readable(i);
	loop_wait(&loop, (dur_us){3 * US_PER_SEC});
	cr_expect(loop_is_ready(&loop, fds[LOOP_READY_MAX]));
}
