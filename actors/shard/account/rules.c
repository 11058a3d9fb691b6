/* The rules of an account in memory: the text of each, with its event and whether it is active. The rest is parsed when that
 * event occurs; most rules of an account are never parsed. */
#include "actors/shard/account/parts.h"

#include "store/rule.h"

#include <stdlib.h>

enum err account_rule_read(struct account_rule *rule)
{
	struct account_id owner;
	struct arena      arena = {0};
	struct json      *json;
	struct file_fault fault;
	struct rule       read;
	if (rule->is_read) return OK;
	enum err err = json_parse(rule->text, &arena, &json);
	if (err && err != ERR_NO_MEMORY) err = ERR_DAMAGED;
	if (!err && rule_read(json, &read, &fault)) err = ERR_DAMAGED;
	if (!err && read.template_id.size && !template_id_read(read.template_id, &owner, &rule->template))
		err = ERR_DAMAGED;
	if (!err) err = account_rule_keep(rule, &read);
	arena_free(&arena);
	return err;
}

static enum err rule_new(const struct rule_row *row, struct account_rule **out)
{
	struct account_rule *rule = calloc(1, sizeof *rule + row->text.size);
	enum err             err = rule ? OK : ERR_NO_MEMORY;
	if (err) goto out;
	atomic_init(&rule->refs, 1);
	memcpy(rule->stored, row->text.at, row->text.size);
	rule->text = span_of(rule->stored, row->text.size);
	rule->id = row->id;
	if (rule_head(rule->text, &rule->active, &rule->event)) goto out;
	/* Not in the form of rule_text(). */
	if ((err = account_rule_read(rule))) goto out;
	rule->active = rule->rule.active;
	rule->event = rule->rule.event;
out:
	if (err) account_rule_free(&rule);
	*out = rule;
	return err;
}

static struct account_rules *rules_new(void)
{
	struct account_rules *rules = calloc(1, sizeof *rules);
	if (rules) atomic_init(&rules->refs, 1);
	return rules;
}

/* Inserts a rule by id, which is the order of creation. */
static enum err place(struct account_rules *rules, const struct rule_row *row)
{
	struct account_rule *rule;
	enum err             err = rules->count == RULES_MAX ? ERR_DAMAGED : rule_new(row, &rule);
	if (err) return err;
	unsigned at = rules->count++;
	for (; at && memcmp(rules->of[at - 1]->id.b, rule->id.b, sizeof rule->id.b) > 0; at--)
		rules->of[at] = rules->of[at - 1];
	rules->of[at] = rule;
	return OK;
}

/* Computes what spans all rules: the order by event, and the bytes. */
static void sum_up(struct account_rules *rules)
{
	unsigned count = 0;
	for (unsigned event = 0; event < EVENT_KINDS; event++) {
		rules->begin[event] = (uint8_t)count;
		for (unsigned i = 0; i < rules->count; i++)
			if (rules->of[i]->active && rules->of[i]->event == event)
				rules->order[count++] = (uint8_t)i;
	}
	rules->begin[EVENT_KINDS] = (uint8_t)count;
	for (unsigned i = 0; i < rules->count; i++)
		rules->bytes += rules->of[i]->text.size;
}

enum err account_rules_load(struct view *view, struct account_id id, struct account_rules **out)
{
	struct account_rules *rules = rules_new();
	struct rule_row       row = {.created = {0}};
	struct buffer         room = {0};
	enum err              err = rules ? OK : ERR_NO_MEMORY;
	while (!err && !(err = rule_row_next(view, id, &room, &row)))
		err = place(rules, &row);
	if (err == ERR_NOT_FOUND) err = OK;
	buffer_free(&room);
	if (err)
		account_rules_free(&rules);
	else
		sum_up(rules);
	*out = rules;
	return err;
}

enum err account_rules_change(const struct account_rules *before, struct uuid id, const struct rule_row *row,
                              struct account_rules **out)
{
	struct account_rules *rules = rules_new();
	enum err              err = rules ? OK : ERR_NO_MEMORY;
	for (unsigned i = 0; !err && i < before->count; i++)
		if (!uuid_same(before->of[i]->id, id))
			rules->of[rules->count++] = account_rule_share(before->of[i]);
	if (!err && row) err = place(rules, row);
	if (err)
		account_rules_free(&rules);
	else
		sum_up(rules);
	*out = rules;
	return err;
}
