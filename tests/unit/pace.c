/* http/pace.h: connections with enough throughput continue, slow drips are found. */
#include "http/pace.h"
#include "schemas/limits.h"

#include <criterion/criterion.h>

static mono_us at_ms(int64_t ms)
{
	return (mono_us){1000000 + ms * US_PER_MS};
}

Test(pace, enough_in_every_window_is_never_slow)
{
	struct pace pace;
	pace_begin(&pace, at_ms(0), 0);
	for (int window = 1; window <= 50; window++)
		cr_expect(pace_holds(&pace, at_ms(window * PACE_MS), (uint64_t)window * PACE_BYTES), "%d",
		          window);
}

Test(pace, a_drip_is_found_at_the_end_of_its_first_window)
{
	struct pace pace;
	pace_begin(&pace, at_ms(0), 500);
	for (int64_t ms = 250; ms < PACE_MS; ms += 250)
		cr_expect(pace_holds(&pace, at_ms(ms), 500 + (uint64_t)ms / 250), "%d", (int)ms);
	cr_expect_not(pace_holds(&pace, at_ms(PACE_MS), 500 + PACE_BYTES - 1));
}

Test(pace, time_in_which_the_process_was_not_run_does_not_count)
{
	struct pace pace, none = {.since = {0}};
	pace_begin(&pace, at_ms(1), 7);
	pace_forgive(&pace, (dur_us){60 * PACE_MS * US_PER_MS}, at_ms(60 * PACE_MS + 1));
	cr_expect(pace_holds(&pace, at_ms(61 * PACE_MS - 1), 7));
	cr_expect_not(pace_is_slow(&pace, at_ms(60 * PACE_MS + 100), EVICT_AFTER_MS));
	pace_forgive(&none, (dur_us){US_PER_SEC}, at_ms(9000));
	cr_expect_eq(none.since.v, 0, "it has not begun");
}

Test(pace, earlier_throughput_does_not_count_twice)
{
	struct pace pace;
	pace_begin(&pace, at_ms(0), 0);
	cr_expect(pace_holds(&pace, at_ms(PACE_MS), 100 * PACE_BYTES));
	cr_expect_not(pace_holds(&pace, at_ms(2 * PACE_MS), 100 * PACE_BYTES));
}

Test(pace, it_returns_since_when_nothing_moves)
{
	struct pace pace;
	pace_begin(&pace, at_ms(0), 7);
	cr_expect(pace_holds(&pace, at_ms(100), 8));
	cr_expect(pace_holds(&pace, at_ms(900), 8));
	cr_expect_eq(pace.moved.v, at_ms(100).v);
}

Test(pace, under_pressure_a_stall_may_be_short_only)
{
	struct pace pace;
	pace_begin(&pace, at_ms(0), 7);
	cr_expect(pace_holds_pressed(&pace, at_ms(EVICT_AFTER_MS), 7, true));
	cr_expect(pace_holds_pressed(&pace, at_ms(EVICT_AFTER_MS + 1), 7, false));
	cr_expect_not(pace_holds_pressed(&pace, at_ms(EVICT_AFTER_MS + 1), 7, true));
	cr_expect(pace_holds_pressed(&pace, at_ms(EVICT_AFTER_MS + 2), 8, true));
	cr_expect_not(pace_holds_pressed(&pace, at_ms(PACE_MS), 9, false));
}

Test(pace, large_answers_are_under_pressure_above_half_of_the_limit)
{
	uint64_t half = ANSWERS_BYTES_MAX / 2;
	cr_expect_not(pace_presses(half, ANSWER_SMALL_BYTES + 1));
	cr_expect(pace_presses(half + 1, ANSWER_SMALL_BYTES + 1));
	cr_expect_not(pace_presses(ANSWERS_BYTES_MAX, ANSWER_SMALL_BYTES));
}

Test(pace, stalled_and_dripping_connections_are_slow)
{
	struct pace still, drips, moves;
	pace_begin(&still, at_ms(0), 7);
	pace_begin(&drips, at_ms(0), 7);
	pace_begin(&moves, at_ms(0), 7);
	for (int64_t ms = 0; ms <= 5000; ms += 250) {
		bool late = ms > EVICT_AFTER_MS;
		cr_expect(pace_holds(&still, at_ms(ms), 7));
		cr_expect(pace_holds(&drips, at_ms(ms), 7 + (uint64_t)ms / 250));
		cr_expect(pace_holds(&moves, at_ms(ms), 7 + (uint64_t)ms * PACE_BYTES / PACE_MS + 1));
		cr_expect_eq(pace_is_slow(&still, at_ms(ms), EVICT_AFTER_MS), late, "%d", (int)ms);
		cr_expect_eq(pace_is_slow(&drips, at_ms(ms), EVICT_AFTER_MS), late, "%d", (int)ms);
		cr_expect_not(pace_is_slow(&moves, at_ms(ms), EVICT_AFTER_MS), "%d", (int)ms);
	}
	cr_expect(pace_holds(&moves, at_ms(6001), moves.last));
	cr_expect(pace_is_slow(&moves, at_ms(6001), EVICT_AFTER_MS), "it was quick and is now stalled");
	cr_expect(pace_holds(&still, at_ms(5100), 7 + PACE_BYTES));
	cr_expect_not(pace_is_slow(&still, at_ms(5100), EVICT_AFTER_MS), "it moves again");
}
