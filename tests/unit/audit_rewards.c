/* The audit of rewards: each rule, broken alone in an otherwise sound shop, is reported. */
#include "tests/unit/audit_look.h"

#include "store/cleanup.h"
#include "store/reward.h"

enum { KEPT = 1, EDITED = 2, DELETED = 3, FAMILIES = 3 };

static struct reward reward_of(uint32_t family, uint32_t version, const char *slug)
{
	return (struct reward){.family = family,
	                       .version = version,
	                       .created = {10},
	                       .updated = {20},
	                       .family_id = {{(uint8_t)family}},
	                       .slug = span_str(slug)};
}

static struct reward_version version_of(uint32_t family, uint32_t version, const char *slug)
{
	return (struct reward_version){.family = family,
	                               .version = version,
	                               .id = {{(uint8_t)family, (uint8_t)version}},
	                               .family_id = {{(uint8_t)family}},
	                               .redemption_allowance = 1,
	                               .created = {10},
	                               .made = {9 + version},
	                               .slug = span_str(slug),
	                               .name = span_str("Name")};
}

static void put_reward(struct reward row)
{
	must(!reward_put(s.view, account, &row));
	scratch_save(&s);
}

static void put_version(struct reward_version row)
{
	must(!reward_version_put(s.view, account, &row));
	scratch_save(&s);
}

static void leave_row(struct cleanup row)
{
	must(!cleanup_put(s.view, &row));
	scratch_save(&s);
}

static void leave(uint32_t family)
{
	leave_row(reward_left_over(account, &(struct reward){.family = family, .version = 2}));
}

static void leave_version(uint32_t family, uint32_t version)
{
	leave_row(reward_version_left_over(account, family, version));
}

static void put_slug(uint32_t family, const char *slug)
{
	struct reward row = reward_of(family, 1, slug);
	must(!reward_slug_put(s.view, account, &row));
	scratch_save(&s);
}

static void put_tally(uint32_t made, uint32_t rewards)
{
	struct reward_tally tally = {.families = made, .rewards = rewards};
	must(!reward_tally_put(s.view, account, &tally));
	scratch_save(&s);
}

/* A reward of one version, one of three whose last is large, and one that was deleted after two. */
static void make_catalogue(void)
{
	static char           about[5000];
	struct reward_version large = version_of(EDITED, 3, "edited");
	memset(about, 'x', sizeof about);
	large.description = span_of(about, sizeof about);
	make_shop();
	put_reward(reward_of(KEPT, 1, "kept"));
	put_slug(KEPT, "kept");
	put_version(version_of(KEPT, 1, "kept"));
	put_reward(reward_of(EDITED, 3, "edited"));
	put_slug(EDITED, "edited");
	put_version(version_of(EDITED, 1, "edited"));
	put_version(version_of(EDITED, 2, "edited"));
	leave_version(EDITED, 1);
	leave_version(EDITED, 2);
	put_version(large);
	put_version(version_of(DELETED, 1, "gone"));
	put_version(version_of(DELETED, 2, "gone"));
	leave(DELETED);
	put_tally(FAMILIES, 2);
}

TestSuite(audit_rewards, .init = make_catalogue, .fini = end);

static void break_form(void)
{
	put(TABLE_REWARD, key_u32(account, KEPT), span_str("x"));
}
static void break_key(void)
{
	put(TABLE_REWARD, key_account(account), span_str("x"));
}
static void break_times(void)
{
	struct reward row = reward_of(KEPT, 1, "kept");
	row.updated.v = 9;
	put_reward(row);
}
static void break_family(void)
{
	put_reward(reward_of(4, 1, "kept"));
}
static void break_slug_form(void)
{
	put_reward(reward_of(KEPT, 1, "Kept"));
}
static void break_slug(void)
{
	put_slug(EDITED, "kept");
}
static void break_no_slug(void)
{
	del(TABLE_REWARD_SLUG, key_reward_slug(account, span_str("kept")));
}
static void break_newest(void)
{
	put_reward(reward_of(KEPT, 2, "kept"));
}
static void break_other_slug(void)
{
	put_version(version_of(KEPT, 1, "other"));
}
static void break_family_id(void)
{
	struct reward row = reward_of(KEPT, 1, "kept");
	row.family_id.b[0] = 9;
	put_reward(row);
}
static void break_count(void)
{
	put_tally(FAMILIES, 3);
}
static void break_slug_of_nobody(void)
{
	put_slug(DELETED, "gone");
}
static void break_slug_row(void)
{
	put(TABLE_REWARD_SLUG, key_reward_slug(account, span_str("kept")), span_str("x"));
}
static void break_slug_key(void)
{
	put(TABLE_REWARD_SLUG, key_reward_slug(account, span_str("A")), span_str("1234"));
}
static void break_extra_version(void)
{
	put_version(version_of(KEPT, 2, "kept"));
}
static void break_version_form(void)
{
	put_version(version_of(DELETED, 2, "gone"));
	struct row_key key = key_reward_version(account, DELETED, 2);
	put(TABLE_REWARD_VERSION, key, span_str("x"));
}
static void break_version_of_another(void)
{
	struct reward_version row = version_of(DELETED, 2, "gone");
	row.family_id.b[0] = 9;
	put_version(row);
}
static void break_version_times(void)
{
	struct reward_version row = version_of(DELETED, 2, "gone");
	row.made.v = 9;
	put_version(row);
}
static void break_version_text(void)
{
	struct reward_version row = version_of(DELETED, 2, "gone");
	row.name = span_str("\xff");
	put_version(row);
}
static void break_left_over(void)
{
	struct cleanup row = cleanup_of_number(account, CLEANUP_REWARD, DELETED);
	must(!cleanup_del(s.view, &row));
	scratch_save(&s);
}
static void break_version_of_nobody(void)
{
	struct cleanup row = reward_version_left_over(account, EDITED, 2);
	must(!cleanup_del(s.view, &row));
	scratch_save(&s);
}
static void break_left_newest(void)
{
	leave_version(EDITED, 3);
}
static void break_left_never_made(void)
{
	leave_version(FAMILIES + 1, 1);
}
static void break_left_form(void)
{
	leave_row(cleanup_of_number(account, CLEANUP_REWARD_VERSION, EDITED));
}
static void break_left_reward(void)
{
	leave(KEPT);
}
static void break_left_nothing(void)
{
	leave(FAMILIES + 1);
}
static void break_skipped_family(void)
{
	put_version(version_of(5, 1, "five"));
}
static void break_tally_form(void)
{
	put(TABLE_REWARD_TALLY, key_account(account), span_str("x"));
}
static void break_account(void)
{
	put(TABLE_REWARD, key_u32(nobody, 1), span_str("x"));
}

static void break_recipe(uint32_t family, uint8_t version, size_t size)
{
	uint8_t                detail[8] = {version}, key[32] = {9};
	struct idempotency_row row = {
	    .recipe = {.what = RECIPE_REWARD, .number = family}, .at = {90}, .order = 9};
	row.recipe.detail = span_of(detail, size);
	must(!idempotency_put(s.view, account, key, &row));
	scratch_save(&s);
}
static void break_answer_family(void)
{
	break_recipe(FAMILIES + 1, 1, 4);
}
static void break_answer_version(void)
{
	break_recipe(KEPT, 3, 4);
}
static void break_answer_detail(void)
{
	break_recipe(DELETED, 2, 5);
}

static const struct breakage breakages[] = {
    B(form, "table reward, " ACCOUNT "a row of a wrong form"),
    B(key, "table reward, " ACCOUNT "a row of a wrong form"),
    B(times, "reward 1 has impossible times"),
    B(family, "reward 4, but 3 have been made"),
    B(slug_form, "reward 1 has a slug of a wrong form"),
    B(slug, "reward 1 is not found by its slug"),
    B(no_slug, "reward 1 is not found by its slug"),
    B(newest, "reward 1 has no version 2 that can be read"),
    B(other_slug, "reward 1 is not what its newest version says"),
    B(family_id, "reward 1 is not what its newest version says"),
    B(count, "table reward_tally, " ACCOUNT "2 rewards, but 3 are counted"),
    B(slug_of_nobody, "a slug of reward 3, which does not have it"),
    B(slug_row, "table reward_slug, " ACCOUNT "a row of a wrong form"),
    B(slug_key, "table reward_slug, " ACCOUNT "a row of a wrong form"),
    B(extra_version, "reward 1 has a version 2, and says 1"),
    B(version_form, "reward 3: a version that cannot be read"),
    B(version_of_another, "reward 3: version 2 is of another"),
    B(version_times, "reward 3: version 2 has impossible times"),
    B(version_text, "reward 3: version 2 has texts that are none"),
    B(left_over, "reward 3 is deleted, and its versions stay"),
    B(version_of_nobody, "reward 2: version 2 is nobody's, and stays"),
    B(left_newest, "version 3 of reward 2 is not one to be removed"),
    B(left_never_made, "version 1 of reward 4 is not one to be removed"),
    B(left_form, "version 0 of reward 0 is not one to be removed"),
    B(left_reward, "table cleanup, " ACCOUNT "reward 1 is not one that was deleted"),
    B(left_nothing, "table cleanup, " ACCOUNT "reward 4 is not one that was deleted"),
    B(skipped_family, "reward 5 has versions, but 3 have been made"),
    B(tally_form, "table reward_tally, " ACCOUNT "a row of a wrong form"),
    B(account, NOBODY "rows of an account that does not exist"),
    B(answer_family, "key 9: reward 4 does not exist"),
    B(answer_version, "key 9: a version that does not exist"),
    B(answer_detail, "key 9: a detail that cannot be read"),
};

Test(audit_rewards, reports_each_broken_rule)
{
	for (size_t i = 0; i < sizeof breakages / sizeof *breakages; i++) {
		breakages[i].work();
		expect_fault(breakages[i].name, breakages[i].want);
		end();
		make_catalogue();
	}
}

Test(audit_rewards, finds_no_fault_in_a_sound_catalogue)
{
	struct cleanup row = reward_left_over(account, &(struct reward){.family = DELETED, .version = 2});
	struct cleanup version = reward_version_left_over(account, EDITED, 1);
	bool           done = false;
	break_recipe(DELETED, 2, 4);
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
	cr_assert(!reward_versions_clean(s.view, &row, &done) && done);
	scratch_save(&s);
	break_left_over();
	must(!reward_version_clean(s.view, &version) && !cleanup_del(s.view, &version));
	scratch_save(&s);
	look(); /* nothing else may be removed with the unreferenced rows */
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
}
