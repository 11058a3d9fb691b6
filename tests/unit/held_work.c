/* Work that waits for a setting or a credential, when there is much of it: a write lets it go in steps. */
#include "tests/unit/push_world.h"

enum { HELD = 20000, HELD_S = 3600 };

TestSuite(held_work, .init = begin_pushes, .fini = end_pushes);

/* The rows are in memory alone. */
static void hold(struct account_id account, uint32_t first, unsigned count)
{
	const wall_us later = {now.v + HELD_S * US_PER_SEC};
	for (uint32_t i = first; i < first + count; i++) {
		const struct wallet_due row = {
		    .account = account, .kind = WALLET_DUE_PUSH, .number = i, .due = now};
		cr_assert_eq(wallet_due_put(s.view, &row), OK);
		cr_assert_eq(work_on_writes(work, &s.staged, now), OK);
		s.staged = writes_none(&s.arena);
		arena_reset(&s.arena);
		s.view = db_view(s.db, &s.staged, &s.arena);
		const struct wallet_work *taken = work_take(work, WALLET_DUE_PUSH, now);
		cr_assert(taken && taken->number == i);
		cr_assert_eq(work_again(work, account, WALLET_DUE_PUSH, i, later), OK);
	}
}

static void change_settings(struct account_id account)
{
	struct writes writes = writes_none(&s.arena);
	struct span   key = span_of(account.b, sizeof account.b);
	cr_assert_eq(write_put(&writes, TABLE_ACCOUNT, key, key), OK);
	cr_assert_eq(held_on_settings(work, &writes, now), OK);
}

/* How many are due; they are taken. */
static unsigned take(struct account_id account)
{
	const struct wallet_work *taken;
	unsigned                  count = 0;
	while ((taken = work_take(work, WALLET_DUE_PUSH, now))) {
		cr_assert(account_same(taken->account, account));
		count++;
	}
	return count;
}

static bool step(void)
{
	bool more = false;
	cr_assert_eq(held_step(work, now, &more), OK);
	return more;
}

Test(held_work, a_write_looks_at_a_part_of_many_due_passes)
{
	hold(shop(0), 0, HELD);
	change_settings(shop(0));
	unsigned at_once = take(shop(0));
	cr_expect(at_once > 0 && at_once < HELD / 2, "%u at once", at_once);
	while (step())
		;
	cr_expect_eq(at_once + take(shop(0)), HELD);
}

Test(held_work, other_accounts_stay_held)
{
	hold(shop(0), 0, HELD);
	hold(shop(1), 0, 10);
	change_settings(shop(1));
	while (step())
		;
	cr_expect_eq(take(shop(1)), 10);
}

Test(held_work, a_second_write_meets_what_was_held_behind_the_first_one)
{
	hold(shop(0), 0, HELD);
	change_settings(shop(0));
	unsigned done = take(shop(0));
	hold(shop(0), HELD, 1000);
	change_settings(shop(0));
	while (step())
		;
	cr_expect_eq(done + take(shop(0)), HELD + 1000);
}

Test(held_work, more_writes_than_are_remembered_are_all_obeyed)
{
	hold(shop(0), 0, HELD / 2);
	for (unsigned i = 0; i < 2 * WORK_NEWS_MAX; i++)
		change_settings(shop(2 + i));
	change_settings(shop(0));
	while (step())
		;
	cr_expect_eq(take(shop(0)), HELD / 2);
}

/* How many get ready; they are taken. */
static unsigned poll(void)
{
	unsigned ready = 0;
	cr_assert_eq(work_meet(work, WORK_APPLE, instance, now, mono), OK);
	while (work_turn(work, WORK_APPLE))
		ready++;
	return ready;
}

Test(held_work, a_poll_makes_a_part_of_what_is_due_ready)
{
	hold(shop(0), 0, HELD);
	now.v += HELD_S * US_PER_SEC;
	unsigned at_once = poll();
	cr_expect(at_once > 0 && at_once < HELD / 2, "%u at once", at_once);
	cr_expect(work_is_ready(work, WORK_APPLE, now, mono));
	unsigned ready = at_once;
	while ((at_once = poll()))
		ready += at_once;
	cr_expect_eq(ready, HELD);
}

Test(held_work, accounts_take_turns_once_all_is_ready)
{
	hold(shop(0), 0, HELD);
	hold(shop(1), 0, 1);
	now.v += HELD_S * US_PER_SEC;
	unsigned steps = 0;
	bool     more = true;
	for (; more; steps++) {
		more = false;
		cr_assert_eq(work_make_ready(work, now, &more), OK);
	}
	cr_expect_leq(steps, HELD / 1000 + 1);
	bool one = account_same(work_turn(work, WORK_APPLE)->account, shop(1));
	bool two = account_same(work_turn(work, WORK_APPLE)->account, shop(1));
	cr_expect(one != two, "it has one of the first two turns");
}
