/* rule put: makes an activation rule, or replaces the one that the file names. A replaced rule keeps the passes for which it
 * has fired, and its place in the order, which is that of creation. */
#include "schemas/object_msgpack.h"
#include "actors/shard/operator_file.h"
#include "actors/shard/rule/rule.h"
#include "schemas/api/rule.h"
#include "store/reward.h"

#include <stdio.h>

/* The row that is replaced, or a new one. */
static enum err begin_row(struct request *request, const struct operator_file *file, struct outcome *outcome,
                          struct rule_row *row)
{
	*row = (struct rule_row){.created = request->now};
	if (!file->id) {
		row->id = uuid_draw(request);
		return OK;
	}
	if (file->id->type != MSGPACK_OBJECT_STR)
		return refuse(outcome, REASON(WANTED, "id", .wanted = "a string, the id of a rule"));
	enum err err = rule_find(request, file->id, row);
	return err ? blame_id(outcome, err, "id", CAUSE_RULE_UNKNOWN, arg_span(file->id)) : OK;
}

static enum err check_template(const struct request *request, const struct rule *rule,
                               struct outcome *outcome)
{
	uint32_t       number;
	struct span    text = rule->template_id;
	msgpack_object id = {.type = MSGPACK_OBJECT_STR,
	                     .via.str = {(uint32_t)text.size, (const char *)text.at}};
	enum err       err = text.size ? choose_template(request, &id, &number) : OK;
	return err ? blame_id(outcome, err, "conditions.template_id", CAUSE_TEMPLATE_UNKNOWN, text) : OK;
}

/* Checks that the account has the rewards that the rule assigns, archived or not. */
static enum err check_slugs(struct request *request, const struct rule *rule, struct outcome *outcome)
{
	enum { NAME_TEXT = 32 };
	struct reward reward;
	enum err      err = OK;
	for (unsigned i = 0; !err && i < rule->action_count; i++) {
		struct span slug = rule->actions[i].text;
		if (rule->actions[i].kind != RULE_ASSIGN_REWARD) continue;
		err = reward_by_slug(request->view, request->account->id, slug, &reward);
		if (err != ERR_NOT_FOUND) continue;
		char *field = msgpack_zone_malloc(request->zone, NAME_TEXT);
		if (!field) return ERR_NO_MEMORY;
		snprintf(field, NAME_TEXT, "actions[%u].slug", i);
		return refuse(outcome, REASON(RULE_SLUG, field, .given = slug));
	}
	return err;
}

/* Checks that it fits beside the account's other rules. */
static enum err check_room(const struct account_rules *rules, struct uuid id, const struct rule *rule,
                           struct outcome *outcome)
{
	unsigned others = 0, actions = rule->action_count;
	for (unsigned i = 0; i < rules->count; i++) {
		struct account_rule *other = rules->of[i];
		if (uuid_same(other->id, id)) continue;
		others++;
		if (!other->active || other->event != rule->event) continue;
		enum err err = account_rule_read(other);
		if (err) return err;
		actions += other->rule.action_count;
	}
	if (others >= RULES_MAX) return refuse(outcome, REASON_OF_ALL(RULES_FULL, .most = RULES_MAX));
	if (rule->active && actions > RULE_ACTIONS_MAX)
		return refuse(outcome, REASON_OF_ALL(RULE_ACTIONS_FULL, .most = RULE_ACTIONS_MAX));
	return OK;
}

static enum err check_bytes(const struct account_rules *rules, struct uuid id, size_t bytes,
                            struct outcome *outcome)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (!uuid_same(rules->of[i]->id, id)) bytes += rules->of[i]->text.size;
	if (bytes <= RULES_BYTES_MAX) return OK;
	return refuse(outcome, REASON_OF_ALL(RULES_LONG, .most = RULES_BYTES_MAX));
}

/* A file with the same content changes nothing. */
static enum err store_rule(struct request *request, struct outcome *outcome, struct rule_row *row,
                           const struct rule *rule)
{
	struct buffer text = {0};
	enum err      err = OK;
	rule_text(rule, &text);
	if (text.failed) err = ERR_NO_MEMORY;
	bool is_new = !span_equal(row->text, buffer_span(&text));
	if (!err && is_new) err = check_bytes(request->account->rules, row->id, text.size, outcome);
	if (!err && is_new) {
		row->updated = request->now;
		row->text = buffer_span(&text);
		err = rule_row_put(request->view, request->account->id, row);
	}
	buffer_free(&text);
	return err;
}

enum err on_RULE_PUT(struct request *request, struct outcome *outcome)
{
	struct operator_file *file;
	struct rule_row       row;
	struct rule           rule;
	msgpack_packer        pk = buffer_packer(outcome->payload);
	enum err err = operator_file_take(request, &request->args[ARG_RULE_PUT_file], "id", &file);
	if (err) return err;
	if (rule_read(file->json, &rule, &file->fault)) return operator_file_blame(outcome, file);
	if ((err = begin_row(request, file, outcome, &row))) return err;
	if ((err = check_template(request, &rule, outcome))) return err;
	if (!arg_boolean(&request->args[ARG_RULE_PUT_force], false) &&
	    (err = check_slugs(request, &rule, outcome)))
		return err;
	if ((err = account_load_rules(request->view, request->account))) return err;
	if ((err = check_room(request->account->rules, row.id, &rule, outcome))) return err;
	if ((err = store_rule(request, outcome, &row, &rule))) return err;
	pack_id(&pk, row.id);
	return OK;
}
