/* The audit of activation rules: each of its rules, broken alone in an otherwise sound shop, is reported. */
#include "tests/unit/audit_look.h"

#include "store/cleanup.h"
#include "store/rule.h"

TestSuite(audit_rules, .init = make_shop, .fini = end);

#define FILE(active, event, conditions, actions)                                                         \
	"{\"name\":\"R\",\"active\":" active ",\"event\":\"" event "\",\"conditions\":{" conditions "}," \
	"\"actions\":[" actions "]}"
#define ADD   "{\"type\":\"add_balance\",\"amount\":1}"
#define EIGHT ADD "," ADD "," ADD "," ADD "," ADD "," ADD "," ADD "," ADD

static const char sound[] = FILE("true", "pass.created", "", ADD);

static struct rule_row some(uint8_t tag, const char *text)
{
	return (struct rule_row){.id = {{tag}}, .created = {10}, .updated = {20}, .text = span_str(text)};
}

static void store(struct rule_row row)
{
	must(!rule_row_put(s.view, account, &row));
	scratch_save(&s);
}

static void fire(uint8_t tag, uint32_t number)
{
	must(!rule_fired_put(s.view, account, (struct uuid){{tag}}, number));
	scratch_save(&s);
}

static void break_version(void)
{
	uint8_t value[40] = {2};
	put(TABLE_RULE, key_uuid(account, (struct uuid){{1}}), span_of(value, sizeof value));
}
static void break_form(void)
{
	put(TABLE_RULE, key_uuid(account, (struct uuid){{1}}), span_str("x"));
}
static void break_key(void)
{
	put(TABLE_RULE, key_u32(account, 1), span_str("x"));
}
static void break_created(void)
{
	struct rule_row row = some(1, sound);
	row.created.v = -1;
	store(row);
}
static void break_updated(void)
{
	struct rule_row row = some(1, sound);
	row.updated.v = 9;
	store(row);
}
static void break_json(void)
{
	store(some(1, "{"));
}
static void break_rule(void)
{
	store(some(1, "{}"));
}
static void break_template(void)
{
	store(some(1, FILE("true", "pass.created", "\"template_id\":\"tpl_mfrqaaaaaaaaaaaa_3\"", ADD)));
}
static void break_owner(void)
{
	store(some(1, FILE("true", "pass.created", "\"template_id\":\"tpl_miaaaaaaaaaaaaaa_1\"", ADD)));
}
static void break_count(void)
{
	for (unsigned i = 0; i <= RULES_MAX; i++)
		store(some((uint8_t)i, FILE("false", "pass.created", "", ADD)));
}
static void break_actions(void)
{
	for (uint8_t i = 1; i <= 4; i++)
		store(some(i, FILE("true", "pass.created", "", EIGHT)));
	store(some(5, sound));
}
/* Two rules that exceed the size limit only together. */
static void break_bytes(void)
{
	static char text[RULES_BYTES_MAX / 2 + 1];
	memset(text, ' ', sizeof text - 1);
	memcpy(text, sound, sizeof sound - 1);
	store(some(1, text));
	store(some(2, text));
	store(some(3, sound));
}
static void break_fired(void)
{
	fire(1, PASSES);
}
static void break_fired_stays(void)
{
	fire(9, 0);
}
static void break_fired_key(void)
{
	put(TABLE_RULE_FIRED, key_u32(account, 1), span_of(NULL, 0));
}
static void break_fired_value(void)
{
	struct row_key key = key_uuid(account, (struct uuid){{1}});
	key.size += 4;
	put(TABLE_RULE_FIRED, key, span_str("x"));
}
static void break_account(void)
{
	put(TABLE_RULE, key_uuid(nobody, (struct uuid){{1}}), span_str("x"));
}

#define FIRST "01000000-0000-0000-0000-000000000000 "
static const struct breakage breakages[] = {
    B(version, "table rule, " ACCOUNT FIRST "is a row of a wrong form"),
    B(form, FIRST "is a row of a wrong form"),
    B(key, "table rule, " ACCOUNT "a key of "),
    B(created, FIRST "has impossible times"),
    B(updated, FIRST "has impossible times"),
    B(json, FIRST "cannot be read"),
    B(rule, FIRST "cannot be read"),
    B(template, FIRST "asks for a template that does not exist"),
    B(owner, FIRST "asks for a template that does not exist"),
    B(count, "c8000000-0000-0000-0000-000000000000 is beyond the limit"),
    B(actions, "05000000-0000-0000-0000-000000000000 has actions beyond the limit of its event"),
    B(bytes, "03000000-0000-0000-0000-000000000000 is longer than there is room for"),
    B(fired, "table rule_fired, " ACCOUNT "pass 45 does not exist"),
    B(fired_stays, "table rule_fired, " ACCOUNT "of a rule that was deleted, and stays"),
    B(fired_key, "table rule_fired, " ACCOUNT "a row of a wrong form"),
    B(fired_value, "table rule_fired, " ACCOUNT "a row of a wrong form"),
    B(account, NOBODY "rows of an account that does not exist"),
};

Test(audit_rules, reports_each_broken_rule)
{
	try_breakages(breakages, sizeof breakages / sizeof *breakages);
}

Test(audit_rules, finds_no_fault_in_valid_rules)
{
	for (uint8_t i = 1; i <= 4; i++)
		store(some(
		    i, FILE("true", "pass.created", "\"template_id\":\"tpl_mfrqaaaaaaaaaaaa_2\"", EIGHT)));
	store(some(5, FILE("true", "scan.created", "\"once_per_pass\":true", EIGHT)));
	store(some(6, FILE("false", "pass.created", "", EIGHT)));
	fire(5, PASSES - 1);
	fire(9, 0); /* of a deleted rule */
	struct uuid    gone = {{9}};
	struct cleanup left = cleanup_of(account, CLEANUP_RULE, span_of(gone.b, sizeof gone));
	must(!cleanup_put(s.view, &left));
	scratch_save(&s);
	look();
	cr_expect_eq(faults.count, 0, "%s", faults.texts[0]);
}
