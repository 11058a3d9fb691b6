/* The activation rules of one account: every row can be decoded and is a rule, its times are possible, its template
 * exists, and together they keep the limits checked at their creation. Fired rows belong to existing passes. The
 * rule itself may be deleted if the rest has a background removal. */
#include "store/auditor.h"

#include "schemas/bytes.h"
#include "schemas/rule.h"
#include "store/rule.h"

enum { RULE_KEY_REST = 16, FIRED_KEY_REST = 20 };

/* Sums over the rules so far. */
struct sums {
	unsigned rules, actions[EVENT_KINDS];
	size_t   bytes;
};

/* Does the rule name a template that the account does not have? */
static bool is_lost(const struct auditor *auditor, struct span template_id)
{
	struct account_id owner;
	uint32_t          number;
	if (!template_id.size) return false;
	return !template_id_read(template_id, &owner, &number) || !account_same(owner, auditor->account) ||
	       !audit_has_template(auditor, number);
}

static void judge_rule(struct auditor *auditor, const struct rule *rule, const char *id, struct sums *sums)
{
	if (is_lost(auditor, rule->template_id))
		audit_fault(auditor, TABLE_RULE, "%s asks for a template that does not exist", id);
	if (++sums->rules == RULES_MAX + 1) audit_fault(auditor, TABLE_RULE, "%s is beyond the limit", id);
	if (!rule->active) return;
	sums->actions[rule->event] += rule->action_count;
	if (sums->actions[rule->event] > RULE_ACTIONS_MAX)
		audit_fault(auditor, TABLE_RULE, "%s has actions beyond the limit of its event", id);
}

static enum err judge_row(struct auditor *auditor, const struct audit_whole *found)
{
	struct sums      *sums = found->context;
	struct rule_row   row;
	struct rule       rule;
	struct file_fault fault;
	struct json      *json;
	char              id[UUID_TEXT];
	memcpy(row.id.b, found->key, sizeof row.id.b);
	uuid_text(row.id, id);
	if (rule_row_read(found->value, &row)) {
		audit_fault(auditor, TABLE_RULE, "%s is a row of a wrong form", id);
		return OK;
	}
	if (row.created.v < 0 || row.updated.v < row.created.v)
		audit_fault(auditor, TABLE_RULE, "%s has impossible times", id);
	if ((sums->bytes += row.text.size) > RULES_BYTES_MAX)
		audit_fault(auditor, TABLE_RULE, "%s is longer than there is room for", id);
	arena_reset(&auditor->arena);
	if (json_parse(row.text, &auditor->arena, &json) || rule_read(json, &rule, &fault))
		audit_fault(auditor, TABLE_RULE, "%s cannot be read", id);
	else
		judge_rule(auditor, &rule, id, sums);
	return OK;
}

static enum err judge_rule_of(struct auditor *auditor, const uint8_t id[RULE_KEY_REST])
{
	struct rule_row row;
	struct uuid     rule;
	bool            left;
	memcpy(rule.b, id, sizeof rule);
	enum err err = rule_row_get(auditor->reader, auditor->account, rule, &row);
	if (err != ERR_NOT_FOUND) return audit_is_fault(err) ? OK : err;
	err = audit_is_left(auditor, cleanup_of(auditor->account, CLEANUP_RULE, span_of(rule.b, sizeof rule)),
	                    &left);
	if (!err && !left) audit_fault(auditor, TABLE_RULE_FIRED, "of a rule that was deleted, and stays");
	return err;
}

static enum err judge_fired(struct auditor *auditor, const struct audit_rows *rows)
{
	uint8_t *before = rows->context; /* the rule of the row before */
	if (rows->rest.size != FIRED_KEY_REST || rows->value.size) return ERR_MALFORMED;
	uint32_t number = get_be32(rows->rest.at + FIRED_KEY_REST - 4);
	if (number >= auditor->pass_count)
		audit_fault(auditor, TABLE_RULE_FIRED, "pass %u does not exist", number);
	if (!memcmp(before, rows->rest.at, RULE_KEY_REST)) return OK;
	memcpy(before, rows->rest.at, RULE_KEY_REST);
	return judge_rule_of(auditor, before);
}

enum err audit_rules(struct auditor *auditor)
{
	struct sums sums = {.rules = 0};
	uint8_t     before[RULE_KEY_REST] = {0};
	enum err    err = audit_each_whole(auditor, TABLE_RULE, RULE_KEY_REST, judge_row, &sums);
	return err ? err : audit_each(auditor, TABLE_RULE_FIRED, judge_fired, before);
}
