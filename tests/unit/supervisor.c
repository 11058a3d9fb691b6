/* The supervisor's decisions: the wait before a restart, the meaning of an exit, and the order of a
 * shutdown. */
#include "actors/supervisor/restart_policy.h"

#include <criterion/criterion.h>
#include <signal.h>

#define MS(n)  ((dur_us){(n)*US_PER_MS})
#define SEC(n) ((dur_us){(n)*US_PER_SEC})

Test(backoff, doubles_up_to_five_seconds)
{
	static const int64_t want_ms[] = {0, 100, 200, 400, 800, 1600, 3200, 5000, 5000};

	for (uint32_t i = 0; i < sizeof want_ms / sizeof *want_ms; i++)
		cr_expect_eq(policy_backoff(i).v, want_ms[i] * US_PER_MS, "after %u deaths", i);
	cr_expect_eq(policy_backoff(UINT32_MAX).v, 5 * US_PER_SEC);
}

Test(exit_of_a_process, is_followed_by_an_immediate_restart)
{
	struct exit_seen seen = {.was_ready = true, .lived = SEC(3600)};
	struct exit_plan plan = policy_exit(&seen);

	cr_expect(plan.restart);
	cr_expect_not(plan.give_up);
	cr_expect_eq(plan.wait.v, 0);
	cr_expect_eq(plan.deaths, 1);
}

Test(exit_of_a_process, waits_longer_when_it_keeps_dying)
{
	struct exit_seen seen = {.was_ready = true, .by_itself = true, .status = 1, .lived = MS(50)};
	struct exit_plan plan = {0};

	for (int i = 0; i < 3; i++) {
		plan = policy_exit(&seen);
		seen.deaths = plan.deaths;
	}
	cr_expect(plan.restart);
	cr_expect_eq(plan.wait.v, 200 * US_PER_MS);
}

Test(exit_of_a_process, is_forgiven_after_ten_seconds_of_life)
{
	struct exit_seen seen = {.was_ready = true, .deaths = 9, .lived = SEC(10)};
	struct exit_plan plan = policy_exit(&seen);

	cr_expect_eq(plan.wait.v, 0);
	cr_expect_eq(plan.deaths, 1);
	seen.lived.v--;
	plan = policy_exit(&seen);
	cr_expect_eq(plan.wait.v, 5 * US_PER_SEC);
	cr_expect_eq(plan.deaths, 10);
}

Test(exit_of_a_process, with_a_failure_ends_the_first_start)
{
	struct exit_seen seen = {.by_itself = true, .status = 1};
	struct exit_plan plan = policy_exit(&seen);

	cr_expect(plan.give_up);
	cr_expect_not(plan.restart);
}

Test(exit_of_a_process, by_a_signal_does_not_end_the_first_start)
{
	struct exit_seen seen = {.by_itself = false, .status = 9};
	struct exit_plan plan = policy_exit(&seen);

	cr_expect_not(plan.give_up);
	cr_expect(plan.restart);
}

Test(exit_of_a_process, is_final_while_stopping)
{
	struct exit_seen seen = {.stopping = true, .by_itself = true, .status = 1};
	struct exit_plan plan = policy_exit(&seen);

	cr_expect_not(plan.restart);
	cr_expect_not(plan.give_up);
}

Test(stop, stops_http_then_the_timer_then_the_shards)
{
	bool alive[ROLE_COUNT] = {[ROLE_HTTP] = true, [ROLE_TIMER] = true, [ROLE_SHARD] = true};

	cr_expect_eq(policy_stop(ROLE_HTTP, alive, SEC(0)), SIGTERM);
	cr_expect_eq(policy_stop(ROLE_TIMER, alive, SEC(11)), 0);
	cr_expect_eq(policy_stop(ROLE_SHARD, alive, SEC(11)), 0);
	alive[ROLE_TIMER] = false; /* died meanwhile: http still needs the shards */
	cr_expect_eq(policy_stop(ROLE_SHARD, alive, SEC(1)), 0);
	alive[ROLE_TIMER] = true;
	alive[ROLE_HTTP] = false;
	cr_expect_eq(policy_stop(ROLE_TIMER, alive, SEC(1)), SIGTERM);
	cr_expect_eq(policy_stop(ROLE_SHARD, alive, SEC(1)), 0);
	alive[ROLE_TIMER] = false;
	cr_expect_eq(policy_stop(ROLE_SHARD, alive, SEC(1)), SIGTERM);
}

Test(stop, kills_processes_that_do_not_end_in_time)
{
	bool alive[ROLE_COUNT] = {[ROLE_HTTP] = true, [ROLE_TIMER] = true, [ROLE_SHARD] = true};

	cr_expect_eq(policy_stop(ROLE_HTTP, alive, MS(11999)), SIGTERM);
	cr_expect_eq(policy_stop(ROLE_HTTP, alive, SEC(12)), SIGKILL);
	cr_expect_eq(policy_stop(ROLE_TIMER, alive, SEC(13)), SIGKILL);
	cr_expect_eq(policy_stop(ROLE_SHARD, alive, MS(14999)), 0);
	cr_expect_eq(policy_stop(ROLE_SHARD, alive, SEC(15)), SIGKILL);
	cr_expect_not(policy_stop_is_over(SEC(15)));
	cr_expect(policy_stop_is_over(SEC(17)));
}

Test(stop, is_for_processes_only)
{
	bool alive[ROLE_COUNT] = {false};

	cr_expect_eq(policy_stop(ROLE_CLI, alive, SEC(60)), 0);
	cr_expect_eq(policy_stop(ROLE_SUPERVISOR, alive, SEC(60)), 0);
}

Test(shards, get_an_eighth_of_the_memory_each_and_half_of_it_together)
{
	static const struct {
		uint64_t mib;
		uint32_t shards;
		uint64_t want_mib;
	} cases[] = {{0, 1, 64},     {256, 1, 64},   {512, 1, 64},       {8192, 1, 1024}, {8192, 4, 1024},
	             {8192, 8, 512}, {8192, 64, 64}, {262144, 8, 16384}, {8192, 0, 1024}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_expect_eq(policy_memory(cases[i].mib << 20, cases[i].shards), cases[i].want_mib << 20,
		             "%u shards of %llu MiB", cases[i].shards, (unsigned long long)cases[i].mib);
}

Test(shards, are_half_the_cores_within_one_and_eight)
{
	static const struct {
		long     cores;
		uint32_t want;
	} cases[] = {{-1, 1}, {0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 2}, {16, 8}, {17, 8}, {128, 8}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_expect_eq(policy_shards(cases[i].cores), cases[i].want, "%ld cores", cases[i].cores);
}
