/* Assigning a reward, in its own command and beside others in one: the order of the checks, a refusal changes
 * nothing, and assignments of one command see each other. */
#include "actors/shard/entitlement/entitlement.h"
#include "tests/unit/support.h"

#include "schemas/states.h"
#include "store/expiry.h"
#include "store/keys.h"
#include "store/reward.h"

#include <criterion/criterion.h>

enum { PASS = 7, NOW = 1000000, WINDOW_S = 60 };

static struct scratch     s;
static struct account     account = {.id = {{'a'}}};
static struct random_pool randomness;
static struct request     request;
static struct hot_at      pass;

static struct reward reward_of(const char *slug)
{
	struct reward reward = {.family = 0};
	must(!reward_by_slug(s.view, account.id, span_str(slug), &reward));
	return reward;
}

static void set_status(const char *slug, enum reward_status status)
{
	struct reward reward = reward_of(slug);
	reward.status = status;
	must(!reward_put(s.view, account.id, &reward));
	scratch_save(&s);
}

static void put_reward(uint32_t family, const char *slug, struct reward_version version)
{
	struct reward reward = {
	    .family = family, .version = 1, .created = {1}, .updated = {1}, .slug = span_str(slug)};
	version.family = family;
	version.version = 1;
	version.redemption_allowance = 4;
	version.slug = version.name = span_str(slug);
	must(!reward_version_put(s.view, account.id, &version) && !reward_put(s.view, account.id, &reward));
	must(!reward_slug_put(s.view, account.id, &reward));
	scratch_save(&s);
}

static void begin(void)
{
	scratch_open(&s);
	request = (struct request){.view = s.view, .account = &account, .now = {NOW}, .random = &randomness};
	pass = (struct hot_at){.account = account.id, .number = PASS, .now = {.status = PASS_ISSUED}};
	put_reward(1, "once", (struct reward_version){.repeat_assignment = false});
	put_reward(2, "often", (struct reward_version){.repeat_assignment = true});
	put_reward(3, "three", (struct reward_version){.repeat_assignment = true, .assignment_limit = 3});
	put_reward(4, "soon",
	           (struct reward_version){.repeat_assignment = true,
	                                   .expiration = EXPIRATION_RELATIVE_WINDOW,
	                                   .window_seconds = WINDOW_S});
	put_reward(5, "until",
	           (struct reward_version){.expiration = EXPIRATION_FIXED_END, .fixed_end = {NOW + 5}});
}

static void end(void)
{
	scratch_close(&s);
}

TestSuite(assign, .init = begin, .fini = end);

/* One assignment of a command: planned before anything is staged, then carried out. */
struct step {
	const char       *slug;
	bool              replace;
	enum err          want;
	struct assignment plan;
	struct assigned   made;
};

static void command(struct step *steps, unsigned count)
{
	request.drawn = (struct uuid){{0}};
	for (unsigned i = 0; i < count; i++)
		cr_assert_eq(entitlement_plan(&request, PASS, span_str(steps[i].slug), steps[i].replace,
		                              &steps[i].plan),
		             OK);
	for (unsigned i = 0; i < count; i++) {
		unsigned staged = s.staged.count;
		enum err err = entitlement_assign(&request, &pass, &steps[i].plan, SOURCE_AUTOMATIC,
		                                  &steps[i].made);
		cr_expect_eq(err, steps[i].want, "step %u: %s instead of %s", i, err_code(err),
		             err_code(steps[i].want));
		if (err) cr_expect_eq(s.staged.count, staged, "step %u has staged something", i);
	}
	scratch_save(&s);
	request.now.v++;
}

static void assign(const char *slug, bool replace, enum err want)
{
	struct step step = {slug, replace, want};
	command(&step, 1);
}

static unsigned available(uint32_t family)
{
	struct entitlement_open row = {.pass = PASS, .family = family};
	unsigned                count = 0;
	while (!entitlement_open_next_alike(s.view, account.id, request.now, &row))
		count++;
	return count;
}

static struct entitlement again(const struct entitlement *row)
{
	struct entitlement got;
	cr_assert_eq(entitlement_get(s.view, account.id, PASS, row->id, &got), OK);
	return got;
}

Test(assign, creates_an_available_entitlement_and_counts_it)
{
	struct step step = {"soon", false, OK};
	command(&step, 1);
	struct entitlement row = again(&step.made.row);
	cr_expect(row.state == ENTITLEMENT_OPEN && row.source == SOURCE_AUTOMATIC && row.family == 4);
	cr_expect(row.version == 1 && row.allowance == 4 && row.remaining == 4);
	cr_expect(row.created.v == NOW && row.updated.v == NOW &&
	          row.expires.v == NOW + WINDOW_S * INT64_C(1000000));
	cr_expect_eq(reward_of("soon").assigned, 1);
	cr_expect_eq(available(4), 1);
	assign("until", false, OK);
	assign("often", false, OK);
	cr_expect(available(5) == 1 && available(2) == 1);
}

/* Each case also has all faults that are checked later; the first check decides. */
Test(assign, checks_are_in_their_order)
{
	assign("once", false, OK);
	set_status("once", REWARD_ARCHIVED);
	static const struct {
		uint8_t     status, flags;
		const char *slug;
		enum err    want;
	} rows[] = {{PASS_DEACTIVATED, HOT_DELETED, "nobody", ERR_RESOURCE_NOT_FOUND},
	            {PASS_DEACTIVATED, 0, "nobody", ERR_RESOURCE_CONFLICT},
	            {PASS_CREATION_FAILED, 0, "nobody", ERR_RESOURCE_CONFLICT},
	            {PASS_REMOVED, 0, "nobody", ERR_RESOURCE_NOT_FOUND},
	            {PASS_CREATING, 0, "", ERR_RESOURCE_NOT_FOUND},
	            {PASS_ACTIVE, 0, "once", ERR_REWARD_NOT_ASSIGNABLE}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		pass.now.status = rows[i].status;
		pass.now.flags = rows[i].flags;
		assign(rows[i].slug, false, rows[i].want);
		assign(rows[i].slug, true, rows[i].want);
	}
	pass.now = (struct hot){.status = PASS_CREATING};
	request.now.v = NOW + 4; /* its last microsecond */
	assign("until", false, OK);
	request.now.v = NOW + 4;
	assign("until", false, ERR_REWARD_NOT_ASSIGNABLE);
	assign("until", false, ERR_REWARD_FIXED_END_PASSED);
	set_status("until", REWARD_ARCHIVED);
	assign("until", false, ERR_REWARD_NOT_ASSIGNABLE);
	char long_slug[600];
	memset(long_slug, 'a', sizeof long_slug);
	long_slug[sizeof long_slug - 1] = 0;
	assign(long_slug, true, ERR_RESOURCE_NOT_FOUND);
}

Test(assign, the_limit_counts_all_versions_and_is_checked_before_repetition)
{
	for (unsigned i = 0; i < 3; i++)
		assign("three", i == 1, OK);
	assign("three", false, ERR_REWARD_ASSIGNMENT_LIMIT_REACHED);
	assign("three", true, ERR_REWARD_ASSIGNMENT_LIMIT_REACHED);
	cr_expect_eq(available(3), 2, "the refused one replaced nothing");
}

Test(assign, a_reward_without_repetition_is_assigned_once)
{
	assign("once", true, OK);
	assign("once", true, ERR_REWARD_NOT_ASSIGNABLE);
	cr_expect_eq(available(1), 1);
	struct entitlement_open open = {.pass = PASS, .family = 1};
	must(!entitlement_open_next(s.view, account.id, request.now, &open));
	struct entitlement row, after;
	must(!entitlement_get(s.view, account.id, PASS, open.id, &row));
	after = row;
	after.remaining = 0;
	after.state = ENTITLEMENT_REDEEMED;
	must(!entitlement_change(s.view, account.id, &row, &after));
	scratch_save(&s);
	assign("once", false, ERR_REWARD_NOT_ASSIGNABLE);
}

Test(assign, replacing_ends_only_available_entitlements)
{
	struct step old[] = {{"soon", false, OK}, {"soon", false, OK}, {"often", false, OK}};
	command(old, 3);
	request.now.v = NOW + WINDOW_S * INT64_C(1000000); /* those two have ended */
	assign("soon", false, OK);
	struct step step = {"soon", true, OK};
	command(&step, 1);
	cr_expect(available(4) == 1 && available(2) == 1);
	cr_expect_eq(again(&old[0].made.row).state, ENTITLEMENT_OPEN, "expired ones stay expired");
	cr_expect_eq(again(&step.made.row).state, ENTITLEMENT_OPEN);
	struct reward_tally tally;
	uint64_t            passed;
	must(!reward_tally_get(s.view, account.id, &tally));
	must(!expiry_passed(s.view, account.id, request.now, &passed));
	cr_expect(tally.entitlements == 5 && tally.replaced == 1 && tally.open == 4 && passed == 2);
}

/* The row after those of "until", which have expired, cannot be read. */
Test(assign, replacing_reads_no_rows_of_other_rewards)
{
	struct row_key unreadable = key_u32(account.id, PASS);
	memcpy(unreadable.bytes + unreadable.size, "\0\0\0\6", 4);
	unreadable.size += 4;
	request.now.v = NOW + 4;
	assign("until", false, OK);
	must(!write_put(&s.staged, TABLE_OPEN, key_span(&unreadable), span_of(NULL, 0)));
	scratch_save(&s);
	request.now.v = NOW + 6;
	assign("often", true, OK);
	cr_expect_eq(available(2), 1);
}

/* Of one command ------------------------------------------------------------------------------------------- */

Test(assign, assignments_of_one_command_see_each_other)
{
	struct step once[] = {{"once", false, OK}, {"once", false, ERR_REWARD_NOT_ASSIGNABLE}};
	command(once, 2);
	struct step three[] = {{"three", false, OK},
	                       {"three", false, OK},
	                       {"three", true, OK},
	                       {"three", true, ERR_REWARD_ASSIGNMENT_LIMIT_REACHED}};
	command(three, 4);
	cr_expect_eq(available(3), 1);
	cr_expect_eq(reward_of("three").assigned, 3);
	struct step often[] = {{"often", true, OK}, {"often", true, OK}, {"often", false, OK}};
	assign("often", false, OK);
	command(often, 3);
	cr_expect_eq(available(2), 2);
	cr_expect_eq(again(&often[0].made.row).state, ENTITLEMENT_REPLACED);
	for (unsigned i = 1; i < 3; i++)
		cr_expect_lt(memcmp(often[i - 1].made.row.id.b, often[i].made.row.id.b, 16), 0,
		             "in this order");
}

/* With rows for thirty others in the same command it is refused before the command gets too large. */
Test(assign, a_command_replaces_no_more_than_it_can_write)
{
	for (unsigned i = 0; i < REPLACED_AT_ONCE_MAX; i++) {
		request.now.v += 2049; /* in different time spans */
		assign("soon", false, OK);
	}
	cr_expect_eq(available(4), REPLACED_AT_ONCE_MAX);
	struct step replacing = {"soon", true, OK};
	command(&replacing, 1);
	cr_expect_eq(available(4), 1);
	for (unsigned i = 0; i < REPLACED_AT_ONCE_MAX; i++) {
		request.now.v += 2049;
		assign("soon", false, OK);
	}
	assign("soon", true, ERR_RESOURCE_CONFLICT);
	cr_expect_eq(available(4), REPLACED_AT_ONCE_MAX + 1);
}

static void stage_others(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		uint8_t key[14] = {'z', (uint8_t)(i >> 8), (uint8_t)i};
		must(!write_put(&s.staged, TABLE_HELD, span_of(key, sizeof key), span_str("full")));
	}
}

/* One of them cannot be read. It must not be read. */
Test(assign, too_many_replacements_are_refused_without_reading_them)
{
	struct step first = {"often", false, OK};
	command(&first, 1);
	for (unsigned i = 0; i < REPLACED_AT_ONCE_MAX; i++)
		assign("often", false, OK);
	struct row_key unreadable = key_u32(account.id, PASS);
	memcpy(unreadable.bytes + unreadable.size, first.made.row.id.b, sizeof first.made.row.id.b);
	unreadable.size += sizeof first.made.row.id.b;
	must(!write_put(&s.staged, TABLE_ENTITLEMENT, key_span(&unreadable), span_str("unreadable")));
	scratch_save(&s);
	assign("often", true, ERR_RESOURCE_CONFLICT);
}

Test(assign, a_command_that_has_written_much_replaces_less)
{
	for (unsigned i = 0; i < 300; i++) {
		request.now.v += 2049;
		assign("soon", false, OK);
	}
	struct assignment plan;
	struct assigned   made;
	must(!entitlement_plan(&request, PASS, span_str("soon"), true, &plan));
	stage_others(0, 2100);
	cr_expect_eq(entitlement_assign(&request, &pass, &plan, SOURCE_MANUAL, &made), ERR_RESOURCE_CONFLICT);
	cr_expect_eq(s.staged.count, 2100);
	/* With fewer rows it succeeds and leaves room for all actions of other rules. */
	s.staged = writes_none(&s.arena);
	stage_others(0, 1000);
	cr_expect_eq(entitlement_assign(&request, &pass, &plan, SOURCE_MANUAL, &made), OK);
	cr_expect_gt(s.staged.count, 1000 + 300 * 4);
	cr_expect_lt(s.staged.count, STAGED_WRITES_MAX - RULE_ACTIONS_MAX * 16);
}
