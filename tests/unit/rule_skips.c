/* actors/shard/rule/skips.h: a table of limited size that counts skipped actions by rule. */
#include "actors/shard/rule/skips.h"

#include <criterion/criterion.h>
#include <string.h>

static struct rule_skips skips;

static struct uuid rule_of(unsigned number, unsigned tail)
{
	struct uuid rule = {{0}};
	memcpy(rule.b, &number, sizeof number);
	memcpy(rule.b + sizeof rule.b - sizeof tail, &tail, sizeof tail);
	return rule;
}

Test(rule_skips, are_counted_by_rule_and_together)
{
	cr_expect_eq(rule_skips_of(&skips, rule_of(1, 7)), 0);
	for (unsigned i = 1; i <= 3; i++)
		cr_expect_eq(rule_skips_add(&skips, rule_of(1, 7)), i);
	cr_expect_eq(rule_skips_add(&skips, rule_of(2, 7)), 1, "with the same slot");
	cr_expect_eq(rule_skips_of(&skips, rule_of(1, 7)), 3);
	cr_expect_eq(rule_skips_of(&skips, rule_of(2, 7)), 1);
	cr_expect_eq(rule_skips_of(&skips, rule_of(3, 7)), 0);
	cr_expect_eq(atomic_load(&skips.all), 4);
}

Test(rule_skips, of_rules_beyond_the_limit_only_the_sum_is_kept)
{
	for (unsigned i = 0; i < RULES_SKIPPING_MAX; i++)
		cr_assert_eq(rule_skips_add(&skips, rule_of(i, UINT32_MAX - i / 2)), 1);
	cr_expect_eq(rule_skips_add(&skips, rule_of(RULES_SKIPPING_MAX, 0)), 0);
	cr_expect_eq(rule_skips_of(&skips, rule_of(RULES_SKIPPING_MAX, 0)), 0);
	cr_expect_eq(rule_skips_add(&skips, rule_of(5, UINT32_MAX - 2)), 2,
	             "existing ones continue to be counted");
	cr_expect_eq(atomic_load(&skips.all), RULES_SKIPPING_MAX + 2);
}
