/* Service time, with clocks that are plain numbers: it never goes back, and its rate differs from the boot
 * clock's by a tenth at most. */
#include "actors/shard/engine/service_clock.h"

#include "tests/unit/support.h"

#include <criterion/criterion.h>

#define SECOND US_PER_SEC

static struct service_clock service;

static wall_us at(int64_t wall, int64_t boot)
{
	return service_clock_now(&service, (wall_us){wall}, (dur_us){boot});
}

static void begin_at(int64_t last, int64_t wall, int64_t boot)
{
	service_clock_begin(&service, (wall_us){last}, (wall_us){wall}, (dur_us){boot});
}

static void begin(void)
{
	service = (struct service_clock){0};
}

TestSuite(service_clock, .init = begin);

Test(service_clock, begins_at_the_later_of_journal_and_wall)
{
	begin_at(500, 900, 7);
	cr_expect_eq(at(900, 7).v, 900);
	begin_at(900, 500, 7);
	cr_expect_eq(at(500, 7).v, 900);
}

Test(service_clock, follows_a_correct_wall_clock)
{
	begin_at(0, 5000 * SECOND, 10);
	for (int64_t i = 1; i < 1000; i++)
		cr_assert_eq(at(5000 * SECOND + i * 333, 10 + i * 333).v, 5000 * SECOND + i * 333);
}

/* The wall clock jumps by `jump`: the service clock approaches it at 9/10 or 11/10 of normal rate. */
static void follows(int64_t jump)
{
	int64_t wall = 1000 * SECOND, boot = 0, before = wall;
	begin_at(0, wall, boot);
	wall += jump;
	unsigned steps = 0;
	for (; before != wall && steps < 2000; steps++) {
		wall += SECOND;
		boot += SECOND;
		int64_t now = at(wall, boot).v, moved = now - before;
		cr_assert(moved >= SECOND - SECOND / 10 && moved <= SECOND + SECOND / 10, "moved %lld",
		          (long long)moved);
		cr_assert_eq(jump > 0 ? now > wall : now < wall, false, "overshoots");
		before = now;
	}
	int64_t distance = jump < 0 ? -jump : jump;
	cr_expect_eq(steps, (unsigned)((distance + SECOND / 10 - 1) / (SECOND / 10)));
}

Test(service_clock, approaches_a_wall_clock_that_jumped)
{
	follows(60 * SECOND);
	follows(-60 * SECOND);
	follows(12345678);
	follows(-12345678);
	follows(1);
	follows(-1);
}

Test(service_clock, waits_while_the_boot_clock_does)
{
	begin_at(0, 100 * SECOND, 50);
	for (int64_t i = 0; i < 100; i++)
		cr_expect_eq(at(100 * SECOND + i * SECOND, 50).v, 100 * SECOND);
	cr_expect_eq(at(100 * SECOND, 20).v, 100 * SECOND); /* and does not go back with it */
}

Test(service_clock, continues_after_a_suspension_of_the_host)
{
	begin_at(0, 100 * SECOND, 0);
	cr_expect_eq(at(3700 * SECOND, 3600 * SECOND).v, 3700 * SECOND);
}

Test(service_clock, runs_ahead_by_its_offset)
{
	service.offset_us = 3600 * SECOND;
	begin_at(0, 100 * SECOND, 0);
	cr_expect_eq(at(101 * SECOND, SECOND).v, (3600 + 101) * SECOND);
	service.offset_us += 10 * SECOND; /* moved forward while it runs */
	cr_expect_eq(at(102 * SECOND, 2 * SECOND).v, (3610 + 102) * SECOND);
}

Test(service_clock, restarts_with_its_offset)
{
	service.offset_us = 3600 * SECOND;
	begin_at(3650 * SECOND, 60 * SECOND, 0); /* ten seconds after a stop at 50 + offset */
	cr_expect_eq(at(60 * SECOND, 0).v, 3660 * SECOND);
	begin_at(3700 * SECOND, 60 * SECOND, 0); /* the wall clock was set back meanwhile */
	cr_expect_eq(at(60 * SECOND, 0).v, 3700 * SECOND);
}

/* Jumps of the wall clock, any steps of the boot clock, growing offsets, and restarts: it never goes back,
 * and its rate stays within a tenth of the boot clock's. */
Test(service_clock, never_goes_back)
{
	uint64_t state = chance_begin();
	int64_t  wall = 1000 * SECOND, boot = 0, last = wall;
	begin_at(0, wall, boot);
	for (unsigned i = 0; i < 200000; i++) {
		int64_t step = chance_below(&state, 4) ? chance_below(&state, 3000000)
		                                       : chance_below(&state, 30);
		int64_t offset = chance_below(&state, 50) ? 0 : chance_below(&state, 90000000);
		bool    anew = chance_below(&state, 200) == 0;
		boot += step;
		wall += step;
		if (chance_below(&state, 20) == 0)
			wall += (int64_t)chance_below(&state, 200000000) - 100 * SECOND;
		service.offset_us += offset;
		if (anew) begin_at(last, wall, boot);
		int64_t now = at(wall, boot).v;
		cr_assert_geq(now, last, "step %u", i);
		if (!anew) cr_assert_leq(now - last, step + step / 10 + offset, "step %u", i);
		if (!anew) cr_assert_geq(now - last, step - step / 10 + offset, "step %u", i);
		last = now;
	}
}
