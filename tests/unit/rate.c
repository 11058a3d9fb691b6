/* Rate limits: a bucket holds one second's requests, is filled at the account's rate, and is removed when
 * this changes nothing. The table is compared with a plain list of all buckets. */
#include "actors/shard/engine/rate.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

static struct rates rates;

static void begin(void)
{
	rates_open(&rates);
}

static void end(void)
{
	rates_free(&rates);
	cr_expect_eq(rates.count, 0);
}

TestSuite(rate, .init = begin, .fini = end);

static struct account_id shop(unsigned number)
{
	return (struct account_id){{1, (uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16)}};
}

/* The number of `tries` requests that are accepted at `us`. */
static unsigned let_through(unsigned of, uint32_t per_second, int64_t us, unsigned tries)
{
	unsigned through = 0;
	for (unsigned i = 0; i < tries; i++)
		through += rates_admit(&rates, shop(of), per_second, (wall_us){us}) == OK;
	return through;
}

Test(rate, accepts_the_requests_of_a_second_at_once)
{
	cr_assert_eq(let_through(1, 3, 0, 10), 3);
	cr_assert_eq(rates_admit(&rates, shop(1), 3, (wall_us){0}), ERR_RATE_LIMITED);
	cr_assert_eq(let_through(2, 1, 0, 10), 1, "each account has its own");
}

Test(rate, is_filled_at_the_rate_up_to_one_second)
{
	cr_assert_eq(let_through(1, 4, 0, 10), 4);
	cr_assert_eq(let_through(1, 4, 249999, 10), 0);
	cr_assert_eq(let_through(1, 4, 250001, 10), 1);
	cr_assert_eq(let_through(1, 4, 750002, 10), 2);
	cr_assert_eq(let_through(1, 4, 60 * US_PER_SEC, 10), 4);
}

Test(rate, no_limit_needs_no_bucket)
{
	cr_assert_eq(let_through(1, 0, 0, 1000), 1000);
	cr_assert_eq(rates.count, 0);
}

Test(rate, a_changed_limit_applies_to_the_next_request)
{
	cr_assert_eq(let_through(1, 100, 0, 10), 10);
	cr_assert_eq(let_through(1, 2, 1, 10), 2, "after a reduction the rest does not count");
	cr_assert_eq(let_through(1, 100, 2, 10), 0, "after an increase it has to be earned");
	cr_assert_eq(let_through(1, 100, 100002, 20), 10);
}

Test(rate, refusals_earn_nothing_and_cost_nothing)
{
	unsigned through = 0;
	for (int64_t us = 0; us <= 10 * US_PER_SEC; us += 1000)
		through += let_through(1, 2, us, 1);
	cr_assert(through >= 21 && through <= 22, "%u of 2 + 2 a second", through);
}

Test(rate, keeps_buckets_of_the_last_second_only)
{
	for (unsigned i = 0; i < 1000; i++)
		cr_assert_eq(let_through(i, 1, i, 2), 1);
	cr_assert_eq(rates.count, 1000);
	for (unsigned i = 0; i < 600; i++)
		cr_assert_eq(let_through(0, 5000, 2 * US_PER_SEC, 1), 1);
	cr_assert_eq(rates.count, 1);
}

Test(rate, evicts_the_longest_idle_bucket_at_its_limit)
{
	for (unsigned i = 0; i < RATED_ACCOUNTS_MAX; i++)
		cr_assert_eq(let_through(i, 1, 0, 1), 1);
	cr_assert_eq(let_through(0, 1, 1, 1), 0); /* now account 1 has been idle for the longest time */
	cr_assert_eq(let_through(RATED_ACCOUNTS_MAX, 1, 1, 2), 1);
	cr_assert_eq(rates.count, RATED_ACCOUNTS_MAX);
	cr_assert_eq(let_through(0, 1, 1, 1), 0);
	cr_assert_eq(let_through(2, 1, 1, 1), 0);
	cr_assert_eq(let_through(1, 1, 1, 1), 1);
}

Test(rate, eviction_does_not_change_results)
{
	enum { SHOPS = 50, STEPS = 20000 };
	struct {
		double  allowance;
		int64_t at;
	} plain[SHOPS];
	unsigned chosen = (unsigned)getpid(), seed = chosen;
	int64_t  now = US_PER_SEC;
	for (unsigned i = 0; i < SHOPS; i++)
		plain[i].allowance = i % 7 + 1, plain[i].at = 0;
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned of = (unsigned)rand_r(&seed) % SHOPS, per_second = of % 7 + 1;
		now += rand_r(&seed) % 100 ? rand_r(&seed) % 10000 : rand_r(&seed) % (2 * US_PER_SEC);
		double earned = (double)(now - plain[of].at) / (double)US_PER_SEC * per_second;
		plain[of].allowance += earned;
		if (plain[of].allowance > per_second) plain[of].allowance = per_second;
		plain[of].at = now;
		bool want = plain[of].allowance >= 1;
		plain[of].allowance -= want;
		cr_assert_eq(let_through(of, per_second, now, 1), want, "seed %u, step %u", chosen, step);
	}
}
