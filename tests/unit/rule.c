/* Activation rules: valid files, their rows, which rules an event triggers, and the order of their
 * actions. */
#include "actors/shard/rule/rule.h"
#include "tests/unit/support.h"

#include "store/entitlement.h"
#include "store/keys.h"
#include "store/notification.h"
#include "store/reward.h"
#include "store/tally.h"

#include <criterion/criterion.h>

enum { NUMBER = 0 };
static struct scratch     s;
static struct account    *account;
static struct request     request;
static struct shard_facts facts;
static struct file_fault  wrong;
static struct random_pool randomness;
static struct arena       arena;

static const struct account_id id = {{'b'}}, neighbour = {{'c'}};
static const struct span       no_reader;

static const char template_text[] =
    "{\"name\":\"Card\",\"loyalty_type\":\"balance\",\"min_balance\":-5,\"fields\":["
    "{\"key\":\"points\",\"type\":\"number\",\"locked\":true}]}";
static const char plain_text[] = "{\"name\":\"Plain\",\"loyalty_type\":\"none\",\"fields\":[]}";

static void put_template(uint32_t number, const char *text)
{
	struct row_key key = key_u32(id, number);
	must(!write_put(&s.staged, TABLE_TEMPLATE, key_span(&key), span_str(text)));
	scratch_save(&s);
}

static void put_pass(uint16_t template)
{
	struct hot        hot = {.status = PASS_ISSUED, .template = template, .ledger_head = 1};
	struct tally      tally = {.made = 1, .counts = {[PASS_ISSUED] = 1}};
	struct ledger_row row = {.what = LEDGER_CREATED};
	must(!ledger_put(s.view, id, 1, &row) && !hot_add(s.view, id, NUMBER, &hot));
	must(!tally_put(s.view, id, &tally));
	scratch_save(&s);
}

static void begin(void)
{
	struct account_row row = {.name = span_str("Shop"), .template_count = 2};
	scratch_open(&s);
	must(!account_row_put(s.view, id, &row));
	scratch_save(&s);
	put_template(1, template_text);
	put_template(2, plain_text);
	put_pass(1);
}

static void end(void)
{
	account_free(&account);
	arena_free(&arena);
	scratch_close(&s);
}

TestSuite(rule, .init = begin, .fini = end);

static struct rule_row some(uint8_t tag, const char *text)
{
	return (struct rule_row){
	    .id = {{tag}}, .created = {tag}, .updated = {tag + 5}, .text = span_str(text)};
}

static void put(struct account_id of, uint8_t tag, const char *text)
{
	struct rule_row row = some(tag, text);
	must(!rule_row_put(s.view, of, &row));
	scratch_save(&s);
}

/* Files -------------------------------------------------------------------------------------------------- */

static enum err read_file(const char *text, struct rule *rule)
{
	struct json *json;
	wrong = (struct file_fault){.message = NULL};
	cr_assert_eq(json_parse(span_str(text), &arena, &json), OK, "%s", text);
	return rule_read(json, rule, &wrong);
}

#define HEAD                     "{\"name\":\"R\",\"event\":\"scan.created\","
#define ADD                      "\"actions\":[{\"type\":\"add_balance\",\"amount\":1}]"
#define CASE(conditions, action) HEAD "\"conditions\":{" conditions "},\"actions\":[{" action "}]}"

Test(rule, file_is_written_in_normal_form)
{
	static const char *const files[][2] = {
	    {HEAD ADD "}",
	     "{\"name\":\"R\",\"active\":true,\"event\":\"scan.created\",\"conditions\":{}," ADD "}"},
	    {HEAD "\"conditions\":null,\"active\":null," ADD "}",
	     "{\"name\":\"R\",\"active\":true,\"event\":\"scan.created\",\"conditions\":{}," ADD "}"},
	    {CASE("\"once_per_pass\":true,\"reader_id\":\"r\",\"template_id\":\"t\",\"every_n_scans\":10,"
	          "\"min_balance\":0",
	          "\"slug\":\"a_1\",\"type\":\"assign_reward\""),
	     "{\"name\":\"R\",\"active\":true,\"event\":\"scan.created\",\"conditions\":{\"min_balance\":0,"
	     "\"every_n_scans\":10,\"template_id\":\"t\",\"reader_id\":\"r\",\"once_per_pass\":true},"
	     "\"actions\":[{\"type\":\"assign_reward\",\"slug\":\"a_1\",\"replace\":false}]}"},
	    {"{\"name\":\"\\\"\",\"active\":false,\"event\":\"pass.created\",\"actions\":["
	     "{\"type\":\"send_notification\",\"message\":\"\\u00e9\"},"
	     "{\"type\":\"add_balance\",\"amount\":-3}]}",
	     "{\"name\":\"\\\"\",\"active\":false,\"event\":\"pass.created\",\"conditions\":{},\"actions\":["
	     "{\"type\":\"send_notification\",\"message\":\"é\"},"
	     "{\"type\":\"add_balance\",\"amount\":-3}]}"},
	};
	for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
		struct rule   rule;
		struct buffer text = {0};
		cr_assert_eq(read_file(files[i][0], &rule), OK, "%u: %s", i, wrong.field);
		rule_text(&rule, &text);
		cr_expect(span_is(buffer_span(&text), files[i][1]), "%.*s", (int)text.size, (char *)text.at);
		buffer_free(&text);
	}
}

Test(rule, invalid_file_is_reported_with_the_member)
{
	static const char *const files[][2] = {
	    {"[]", "file"},
	    {"{}", "name"},
	    {HEAD "\"actions\":[]}", "actions"},
	    {HEAD "\"actions\":null}", "actions"},
	    {HEAD "\"x\":1," ADD "}", "x"},
	    {HEAD "\"active\":0," ADD "}", "active"},
	    {HEAD "\"conditions\":1," ADD "}", "conditions"},
	    {"{\"name\":\"R\",\"event\":\"Scan.created\"," ADD "}", "event"},
	    {"{\"name\":\"R\"," ADD "}", "event"},
	    {CASE("\"min_balance\":\"1\"", ""), "conditions.min_balance"},
	    {CASE("\"min_balance\":9007199254740992", ""), "conditions.min_balance"},
	    {CASE("\"every_n_scans\":0", ""), "conditions.every_n_scans"},
	    {CASE("\"every_n_scans\":-1", ""), "conditions.every_n_scans"},
	    {CASE("\"every_n_scans\":1.0", ""), "conditions.every_n_scans"},
	    {CASE("\"template_id\":\"\"", ""), "conditions.template_id"},
	    {CASE("\"reader_id\":1", ""), "conditions.reader_id"},
	    {CASE("\"once_per_pass\":\"yes\"", ""), "conditions.once_per_pass"},
	    {CASE("\"Once_per_pass\":true", ""), "conditions.Once_per_pass"},
	    {CASE("", ""), "actions[0].type"},
	    {CASE("", "\"type\":1"), "actions[0].type"},
	    {CASE("", "\"type\":\"assign_reward\""), "actions[0].slug"},
	    {CASE("", "\"type\":\"assign_reward\",\"slug\":\"_a\""), "actions[0].slug"},
	    {CASE("", "\"type\":\"assign_reward\",\"slug\":\"a_\""), "actions[0].slug"},
	    {CASE("", "\"type\":\"assign_reward\",\"slug\":\"a-b\""), "actions[0].slug"},
	    {CASE("", "\"type\":\"assign_reward\",\"slug\":\"a\",\"message\":\"m\""), "actions[0].message"},
	    {CASE("", "\"type\":\"add_balance\",\"amount\":null"), "actions[0].amount"},
	    {CASE("", "\"type\":\"add_balance\",\"amount\":\"1\""), "actions[0].amount"},
	    {CASE("", "\"type\":\"add_balance\",\"amount\":9007199254740992"), "actions[0].amount"},
	    {CASE("", "\"type\":\"add_balance\",\"amount\":99999999999999999999"), "actions[0].amount"},
	    {CASE("", "\"type\":\"send_notification\""), "actions[0].message"},
	    {CASE("", "\"type\":\"add_balance\",\"amount\":1},{\"type\":\"none\""), "actions[1].type"},
	    {HEAD "\"actions\":[[]]}", "actions[0]"},
	};
	for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
		struct rule rule;
		cr_expect_eq(read_file(files[i][0], &rule), ERR_INVALID_INPUT, "%s", files[i][0]);
		cr_expect_str_eq(wrong.field, files[i][1], "%s: %s", files[i][0], wrong.field);
		cr_expect(wrong.message && *wrong.message);
	}
}

Test(rule, conditions_on_scans_need_the_scan_event)
{
	static const char *const conditions[] = {"every_n_scans\":3", "reader_id\":\"r\""};
	for (unsigned i = 0; i < 2 * 2; i++) {
		char        text[200];
		struct rule rule;
		snprintf(text, sizeof text, "{\"name\":\"R\",\"event\":\"%s\",\"conditions\":{\"%s}," ADD "}",
		         i < 2 ? "pass.created" : "pass.balanceUpdate", conditions[i % 2]);
		cr_expect_eq(read_file(text, &rule), ERR_INVALID_INPUT);
		cr_expect(strncmp(wrong.field, "conditions.", 11) == 0, "%s", wrong.field);
	}
}

/* Rows --------------------------------------------------------------------------------------------------- */

Test(rule, rows_read_as_they_were_put_in_order_and_by_account)
{
	static char     large[5000];
	struct buffer   room = {0};
	struct rule_row row = {.created = {0}};
	memset(large, 'x', sizeof large - 1);
	for (uint8_t tag = 9; tag; tag--) {
		put(id, tag, tag % 2 ? large : "{}");
		put(neighbour, tag, "[]");
	}
	for (uint8_t tag = 1; tag <= 9; tag++) {
		cr_assert_eq(rule_row_next(s.view, id, &room, &row), OK);
		cr_expect(row.id.b[0] == tag && row.created.v == tag && row.updated.v == tag + 5);
		cr_expect(span_is(row.text, tag % 2 ? large : "{}"));
	}
	cr_expect_eq(rule_row_next(s.view, id, &room, &row), ERR_NOT_FOUND);
	cr_assert_eq(rule_row_get(s.view, id, (struct uuid){{7}}, &row), OK);
	cr_expect(span_is(row.text, large) && row.id.b[0] == 7);
	must(!rule_row_del(s.view, id, (struct uuid){{7}}));
	scratch_save(&s);
	cr_expect_eq(rule_row_get(s.view, id, (struct uuid){{7}}, &row), ERR_NOT_FOUND);
	cr_expect_eq(rule_row_get(s.view, neighbour, (struct uuid){{7}}, &row), OK);
	buffer_free(&room);
}

/* The format, byte for byte. */
Test(rule, rows_are_as_they_are_described)
{
	static const uint8_t value[] = {1, 5, 0, 0, 0, 0, 0, 0, 0, 9, 1, 0, 0, 0, 0, 0, 0, '{', '}'};
	struct rule_row      row;
	cr_assert_eq(rule_row_read(span_of(value, sizeof value), &row), OK);
	cr_expect(row.created.v == 5 && row.updated.v == 265 && span_is(row.text, "{}"));
	for (size_t size = 0; size <= 17; size++)
		cr_expect_eq(rule_row_read(span_of(value, size), &row), ERR_DAMAGED, "%zu", size);
	static const uint8_t other[sizeof value] = {2};
	cr_expect_eq(rule_row_read(span_of(other, sizeof other), &row), ERR_DAMAGED);
}

Test(rule, stores_the_passes_that_it_fired_for)
{
	bool        fired = true;
	struct uuid rule = {{1}};
	cr_assert(rule_fired_get(s.view, id, rule, 7, &fired) == OK && !fired);
	must(!rule_fired_put(s.view, id, rule, 7));
	cr_expect(rule_fired_get(s.view, id, rule, 7, &fired) == OK && fired, "staged");
	scratch_save(&s);
	cr_expect(rule_fired_get(s.view, id, rule, 7, &fired) == OK && fired);
	cr_expect(rule_fired_get(s.view, id, rule, 8, &fired) == OK && !fired);
	cr_expect(rule_fired_get(s.view, id, (struct uuid){{2}}, 7, &fired) == OK && !fired);
	cr_expect(rule_fired_get(s.view, neighbour, rule, 7, &fired) == OK && !fired);
}

/* Triggers
 * ------------------------------------------------------------------------------------------------ */

static void load(void)
{
	uint64_t last;
	account_free(&account);
	cr_assert_eq(account_load(s.view, id, &account), OK);
	cr_assert_eq(ledger_last(s.view, id, &last), OK);
	request = (struct request){.view = s.view,
	                           .account = account,
	                           .random = &randomness,
	                           .now = {1000},
	                           .ends.ledger = last,
	                           .facts = &facts};
}

static struct hot_at the_pass(void)
{
	struct hot_at pass;
	cr_assert_eq(hot_get(s.view, id, NUMBER, &pass), OK);
	return pass;
}

/* True if a rule with this condition is triggered by a change that leaves the pass in this state. */
struct judged {
	const char *conditions, *reader;
	struct hot  pass;
	bool        want;
};

Test(rule, conditions_are_evaluated_after_the_change)
{
	static const struct judged rows[] = {
	    {"", "", {.template = 1}, true},
	    {"\"min_balance\":5", "", {.template = 1, .balance = 4}, false},
	    {"\"min_balance\":5", "", {.template = 1, .balance = 5}, true},
	    {"\"min_balance\":-5", "", {.template = 1, .balance = -5}, true},
	    {"\"min_balance\":-5", "", {.template = 2}, false},
	    {"\"every_n_scans\":3", "", {.template = 1, .scan_count = 2}, false},
	    {"\"every_n_scans\":3", "", {.template = 1, .scan_count = 3}, true},
	    {"\"every_n_scans\":3", "", {.template = 1, .scan_count = 4}, false},
	    {"\"every_n_scans\":3", "", {.template = 1, .scan_count = 6}, true},
	    {"\"every_n_scans\":1", "", {.template = 1, .scan_count = UINT32_MAX}, true},
	    {"\"every_n_scans\":9223372036854775807", "", {.template = 1, .scan_count = UINT32_MAX}, false},
	    {"\"template_id\":\"tpl_miaaaaaaaaaaaaaa_1\"", "", {.template = 1}, true},
	    {"\"template_id\":\"tpl_miaaaaaaaaaaaaaa_1\"", "", {.template = 2}, false},
	    {"\"reader_id\":\"till\"", "till", {.template = 1}, true},
	    {"\"reader_id\":\"till\"", "til", {.template = 1}, false},
	    {"\"reader_id\":\"till\"", "", {.template = 1}, false},
	    {"\"reader_id\":\"till\",\"min_balance\":1", "till", {.template = 1}, false},
	    {"\"once_per_pass\":true", "", {.template = 1}, true},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		char              text[300];
		struct hot_at     pass = {.account = id, .number = NUMBER, .now = rows[i].pass};
		struct rules_plan plan;
		snprintf(text, sizeof text, HEAD "\"conditions\":{%s}," ADD "}", rows[i].conditions);
		put(id, 1, text);
		load();
		struct span reader = span_str(rows[i].reader);
		cr_assert_eq(rules_plan(&request, EVENT_SCAN_CREATED, &pass, reader, &plan), OK);
		cr_expect_eq(plan.count, rows[i].want, "row %u", i);
		cr_assert_eq(rules_plan(&request, EVENT_PASS_CREATED, &pass, reader, &plan), OK);
		cr_expect_eq(plan.count, 0, "row %u, of another event", i);
	}
}

#define ADDS(amounts) "{\"name\":\"R\",\"event\":\"pass.created\",\"actions\":[" amounts "]}"
#define BY(amount)    "{\"type\":\"add_balance\",\"amount\":" #amount "}"

static void expect_history(const int64_t *deltas, unsigned count)
{
	struct hot_at pass = the_pass();
	uint64_t      seq = pass.now.ledger_head;
	int64_t       sum = 0;
	for (unsigned i = 0; i < count; i++)
		sum += deltas[i];
	cr_expect_eq(pass.now.balance, sum);
	for (unsigned i = count; i-- > 0;) {
		struct ledger_row row;
		cr_assert_eq(ledger_get(s.view, id, seq, &row), OK);
		cr_expect(row.what == LEDGER_RULE && row.delta == deltas[i], "%u: %lld", i,
		          (long long)row.delta);
		cr_expect(row.balance == sum && row.at.v == 1000);
		sum -= deltas[i];
		seq = row.previous;
	}
	cr_expect_eq(seq, 1);
}

static void run_all(void)
{
	struct hot_at     pass = the_pass();
	struct rules_plan plan;
	load();
	cr_assert_eq(rules_plan(&request, EVENT_PASS_CREATED, &pass, no_reader, &plan), OK);
	cr_assert_eq(event_occurred(&request, &plan, pass.number), OK);
	scratch_save(&s);
}

Test(rule, actions_run_in_order_and_impossible_ones_are_skipped)
{
	put(id, 3, ADDS(BY(1) "," BY(-100) "," BY(2)));
	put(id, 1, ADDS(BY(-6) "," BY(9007199254740991)));
	put(id, 2, ADDS(BY(1) "," BY(-4)));
	run_all();
	expect_history((const int64_t[]){9007199254740991, -4, 1, -100, 2}, 5);
}

Test(rule, inactive_and_other_accounts_rules_do_nothing)
{
	put(id, 1, "{\"name\":\"R\",\"active\":false,\"event\":\"pass.created\"," ADD "}");
	put(neighbour, 2, ADDS(BY(1)));
	run_all();
	expect_history(NULL, 0);
}

Test(rule, once_per_pass_is_used_up_by_any_action)
{
	bool fired = true;
	put(id, 1,
	    "{\"name\":\"R\",\"event\":\"pass.created\",\"conditions\":{\"once_per_pass\":true},"
	    "\"actions\":[" BY(-6) "]}");
	run_all();
	cr_expect(!rule_fired_get(s.view, id, (struct uuid){{1}}, NUMBER, &fired) && !fired);
	put(id, 1,
	    "{\"name\":\"R\",\"event\":\"pass.created\",\"conditions\":{\"once_per_pass\":true},"
	    "\"actions\":[" BY(-6) "," BY(3) "]}");
	run_all();
	cr_expect(!rule_fired_get(s.view, id, (struct uuid){{1}}, NUMBER, &fired) && fired);
	run_all();
	expect_history((const int64_t[]){3}, 1);
}

Test(rule, sends_its_message_to_the_holder)
{
	struct notification_tally tally;
	struct notification       row;
	put(id, 1,
	    "{\"name\":\"R\",\"event\":\"pass.created\",\"conditions\":{\"once_per_pass\":true},"
	    "\"actions\":[{\"type\":\"send_notification\",\"message\":\"Hello\"},"
	    "{\"type\":\"send_notification\",\"message\":\"again\"}]}");
	run_all();
	run_all();
	cr_assert_eq(notification_tally_get(s.view, id, &tally), OK);
	cr_expect_eq(tally.made, 2);
	cr_assert_eq(notification_get(s.view, id, 0, &row), OK);
	cr_expect(span_is(row.message, "Hello") && !row.to_audience && row.pass_number == NUMBER);
	cr_expect_eq(row.created.v, 1000);
	cr_assert_eq(notification_get(s.view, id, 1, &row), OK);
	cr_expect(span_is(row.message, "again"));
}

static void put_reward(bool repeats, uint64_t limit)
{
	struct reward reward = {
	    .family = 1, .status = REWARD_ACTIVE, .version = 1, .created = {1}, .slug = span_str("coffee")};
	struct reward_version version = {.family = 1,
	                                 .version = 1,
	                                 .repeat_assignment = repeats,
	                                 .redemption_allowance = 1,
	                                 .assignment_limit = limit,
	                                 .slug = reward.slug,
	                                 .name = span_str("Coffee")};
	struct reward_tally   tally = {.families = 1, .rewards = 1};
	must(!reward_put(s.view, id, &reward) && !reward_slug_put(s.view, id, &reward));
	must(!reward_version_put(s.view, id, &version) && !reward_tally_put(s.view, id, &tally));
	scratch_save(&s);
}

static void switch_rewards(bool on)
{
	struct account_row row = {.name = span_str("Shop"), .template_count = 2, .rewards = on};
	must(!account_row_put(s.view, id, &row));
	scratch_save(&s);
}

static uint32_t held(void)
{
	uint32_t count;
	cr_assert_eq(entitlement_held(s.view, id, NUMBER, 1, &count), OK);
	return count;
}

#define ASSIGN(slug, replace) "{\"type\":\"assign_reward\",\"slug\":\"" slug "\",\"replace\":" replace "}"

Test(rule, assigns_possible_rewards_and_continues)
{
	put(id, 1,
	    ADDS(ASSIGN("nobody", "false") "," ASSIGN("coffee", "false") "," ASSIGN("coffee", "false")));
	put(id, 2, ADDS(ASSIGN("coffee", "false") "," BY(1)));
	put_reward(true, 2);
	run_all();
	cr_expect_eq(held(), 0, "the rewards function is off");
	switch_rewards(true);
	run_all();
	cr_expect_eq(held(), 2, "that was the last");
	expect_history((const int64_t[]){1, 1}, 2);
}

Test(rule, assigns_with_replacement)
{
	struct entitlement row = {.pass = NUMBER};
	unsigned           open = 0, replaced = 0;
	put(id, 1, ADDS(ASSIGN("coffee", "true") "," ASSIGN("coffee", "true")));
	put_reward(true, 0);
	switch_rewards(true);
	run_all();
	run_all();
	while (!entitlement_next(s.view, id, &row)) {
		cr_expect_eq(row.source, SOURCE_AUTOMATIC);
		open += row.state == ENTITLEMENT_OPEN;
		replaced += row.state == ENTITLEMENT_REPLACED;
	}
	cr_expect(open == 1 && replaced == 3, "%u and %u", open, replaced);
}

Test(rule, its_head_has_event_and_state_of_valid_rows_only)
{
	static const char *const names[] = {"R", "\\\"", "\",\"active\":true,\"event\":\"pass.created\",",
	                                    "\\", "\u00e9\n"};
	static const char *const others[] = {"",
	                                     "{",
	                                     "{\"name\":\"",
	                                     "{\"name\":\"R\\",
	                                     "{\"name\":\"R\",\"active\":tru",
	                                     "{\"name\":\"R\",\"active\":true,\"event\":\"pass.made\",",
	                                     "{\"active\":true,\"name\":\"R\",\"event\":\"pass.created\","};
	enum event_kind          event;
	bool                     active;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		for (unsigned kind = 0; kind < 2 * EVENT_KINDS; kind++) {
			struct rule rule = {
			    .name = span_str(names[i]), .active = kind & 1, .event = kind / 2};
			struct buffer text = {0};
			rule_text(&rule, &text);
			cr_expect(rule_head(buffer_span(&text), &active, &event), "name %u", i);
			cr_expect(active == (kind & 1) && event == kind / 2, "name %u", i);
			buffer_free(&text);
		}
	for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
		cr_expect(!rule_head(span_str(others[i]), &active, &event), "other %u", i);
}

static bool names(const char *slug)
{
	bool named;
	cr_assert_eq(rules_name_slug(&request, span_str(slug), &named), OK);
	return named;
}

Test(rule, lists_the_rewards_that_it_assigns)
{
	put(id, 1,
	    "{\"name\":\"R\",\"active\":false,\"event\":\"pass.created\",\"actions\":["
	    "{\"type\":\"send_notification\",\"message\":\"tea\"},"
	    "{\"type\":\"assign_reward\",\"slug\":\"coffee\"}]}");
	load();
	cr_expect(names("coffee") && !names("tea") && !names("coffe") && !names("assign_reward"));
	put(id, 1, ADDS(BY(1)));
	load();
	cr_expect(!names("coffee"));
}
