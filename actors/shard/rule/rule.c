/* Evaluates rules and runs their actions. A plan is made from the tables as they are before the event and the pass as it is
 * after it. So all rules are judged on the same state, whatever their actions do to it. Rules run in the order of creation,
 * actions in the order of their rule. */
#include "actors/shard/rule/rule.h"

#include "actors/shard/delivery/fan_out.h"
#include "actors/shard/entitlement/entitlement.h"
#include "actors/shard/notification/notification.h"

/* A rule whose conditions hold. */
struct rule_due {
	const struct account_rule *rule;
	struct assignment         *assignments; /* by action, for those that assign; NULL: rewards are off */
};

enum err rule_find(struct request *request, const msgpack_object *id, struct rule_row *row)
{
	struct uuid read;
	enum err    err = arg_uuid(id, &read);
	if (!err) err = rule_row_get(request->view, request->account->id, read, row);
	return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

/* The account's rules, read at the first use. A range read. */
static enum err load_rules(const struct request *request, const struct account_rules **rules)
{
	enum err err = account_load_rules(request->view, request->account);
	*rules = request->account->rules;
	return err;
}

static enum err names_slug(struct account_rule *rule, struct span slug, bool *named)
{
	enum err err = account_rule_read(rule);
	for (unsigned i = 0; !err && i < rule->rule.action_count; i++) {
		const struct rule_action *action = &rule->rule.actions[i];
		*named |= action->kind == RULE_ASSIGN_REWARD && span_equal(action->text, slug);
	}
	return err;
}

enum err rules_name_slug(const struct request *request, struct span slug, bool *named)
{
	const struct account_rules *rules;
	enum err                    err = load_rules(request, &rules);
	*named = false;
	for (unsigned i = 0; !err && i < rules->count && !*named; i++) {
		struct span text = rules->of[i]->text;
		/* A slug is written as it is, without an escape. */
		if (memmem(text.at, text.size, slug.at, slug.size))
			err = names_slug(rules->of[i], slug, named);
	}
	return err;
}

enum err rules_name_template(const struct request *request, uint32_t number, struct uuid *rule, bool *named)
{
	const struct account_rules *rules;
	enum err                    err = load_rules(request, &rules);
	*named = false;
	for (unsigned i = 0; !err && i < rules->count && !*named; i++) {
		if ((err = account_rule_read(rules->of[i]))) break;
		*named = rules->of[i]->template == number;
		*rule = rules->of[i]->id;
	}
	return err;
}

/* Conditions ---------------------------------------------------------------------------------------------- */

/* A pass without loyalty has no balance, so it never has enough. */
static enum err has_balance(const struct request *request, const struct hot *pass, int64_t least, bool *has)
{
	const struct template *template;
	enum err err = pass_template(request, pass, &template);
	*has = !err && template->loyalty != LOYALTY_NONE && pass->balance >= least;
	return err;
}

/* The conditions that need only the pass and its reader. */
static enum err judge(const struct request *request, const struct account_rule *rule, const struct hot *pass,
                      struct span reader, bool *holds)
{
	const struct rule *of = &rule->rule;
	*holds = (!rule->template || rule->template == pass->template) &&
	         (!of->every_n_scans || (int64_t)pass->scan_count % of->every_n_scans == 0) &&
	         (of->reader_id.size == 0 || span_equal(of->reader_id, reader));
	if (!*holds || !of->has_min_balance) return OK;
	return has_balance(request, pass, of->min_balance, holds);
}

/* Reads what assignments need. With rewards off, the other actions of the rule still run. */
static enum err plan_assignments(struct request *request, const struct rules_plan *plan, struct rule_due *due)
{
	const struct rule *rule = &due->rule->rule;
	enum err           err = OK;
	if (!request->account->row.rewards) return OK;
	due->assignments = arena_take(view_arena(request->view),
	                              sizeof *due->assignments * RULE_OWN_ACTIONS_MAX);
	if (!due->assignments) return ERR_NO_MEMORY;
	for (unsigned i = 0; !err && i < rule->action_count; i++) {
		const struct rule_action *action = &rule->actions[i];
		if (action->kind == RULE_ASSIGN_REWARD)
			err = entitlement_plan(request, plan->number, action->text, action->replace,
			                       &due->assignments[i]);
	}
	return err;
}

static enum err add_due(struct request *request, const struct account_rule *rule, struct rules_plan *plan)
{
	if (!plan->due)
		plan->due = arena_take(view_arena(request->view), sizeof *plan->due * RULE_ACTIONS_MAX);
	if (!plan->due) return ERR_NO_MEMORY;
	if (plan->count == RULE_ACTIONS_MAX) return ERR_DAMAGED; /* each has one action at least */
	struct rule_due *due = &plan->due[plan->count++];
	*due = (struct rule_due){.rule = rule};
	return plan_assignments(request, plan, due);
}

enum err rules_plan(struct request *request, enum event_kind event, const struct hot_at *pass,
                    struct span reader, struct rules_plan *plan)
{
	const struct account_rules *rules;
	must(view_writes(request->view)->count == 0);
	*plan = (struct rules_plan){.event = event, .account = request->account->id, .number = pass->number};
	enum err err = load_rules(request, &rules);
	for (unsigned i = err ? 0 : rules->begin[event]; !err && i < rules->begin[event + 1]; i++) {
		struct account_rule *rule = rules->of[rules->order[i]];
		bool                 holds = false, fired = false;
		if ((err = account_rule_read(rule))) break;
		if ((err = judge(request, rule, &pass->now, reader, &holds)) || !holds) continue;
		if (rule->rule.once_per_pass)
			err = rule_fired_get(request->view, plan->account, rule->id, pass->number, &fired);
		if (!err && !fired) err = add_due(request, rule, plan);
	}
	return err;
}

/* Actions ------------------------------------------------------------------------------------------------- */

static enum err add_balance(struct request *request, const struct rules_plan *plan, int64_t amount,
                            const char **refused)
{
	struct hot_at pass;
	const struct template *template;
	enum err err = hot_get(request->view, plan->account, plan->number, &pass);
	if (err || (err = pass_template(request, &pass.now, &template))) return err;
	struct hot after = pass.now;
	if ((err = pass_plan_balance(template, pass.now.balance, amount, &after.balance))) {
		*refused = err_code(err);
		return OK;
	}
	struct ledger_row row = {.what = LEDGER_RULE, .delta = amount};
	if ((err = pass_change(request, &pass, after, row))) return err;
	return fan_out(request, EVENT_PASS_BALANCE_UPDATE, plan->number);
}

/* An error of a client's request, which skips the action here. */
static bool is_refusal(enum err err)
{
	return err && err_http(err) < 500;
}

static enum err assign(struct request *request, const struct rules_plan *plan,
                       const struct assignment *assignment, const char **refused)
{
	struct hot_at   pass;
	struct assigned made;
	enum err        err = hot_get(request->view, plan->account, plan->number, &pass);
	if (err) return err;
	err = entitlement_assign(request, &pass, assignment, SOURCE_AUTOMATIC, &made);
	if (!is_refusal(err)) return err;
	*refused = made.refused ? cause_name(made.refused) : err_code(err);
	return OK;
}

/* *refused: why the action is skipped. */
static enum err act(struct request *request, const struct rules_plan *plan, const struct rule_due *due,
                    unsigned which, const char **refused)
{
	const struct rule_action *action = &due->rule->rule.actions[which];
	switch (action->kind) {
	case RULE_ASSIGN_REWARD:
		if (due->assignments) return assign(request, plan, &due->assignments[which], refused);
		*refused = err_code(ERR_REWARDS_DISABLED);
		return OK;
	case RULE_ADD_BALANCE: return add_balance(request, plan, action->amount, refused);
	case RULE_SEND_NOTIFICATION: return notify_pass(request, plan->number, action->text);
	case RULE_ACTION_KINDS: break;
	}
	return OK;
}

static enum err note_skip(struct request *request, struct uuid rule, unsigned action, const char *reason)
{
	if (!request->skips)
		request->skips = arena_take(view_arena(request->view),
		                            sizeof *request->skips * RULE_ACTIONS_MAX);
	if (!request->skips) return ERR_NO_MEMORY;
	must(request->skip_count < RULE_ACTIONS_MAX);
	request->skips[request->skip_count++] = (struct rule_skip){rule, action, reason};
	return OK;
}

/* A rule all of whose actions were skipped has not fired: with once_per_pass it may still fire later. */
static enum err run(struct request *request, const struct rules_plan *plan, const struct rule_due *due)
{
	const struct rule *rule = &due->rule->rule;
	bool               done = false;
	for (unsigned i = 0; i < rule->action_count; i++) {
		const char *refused = NULL;
		enum err    err = act(request, plan, due, i, &refused);
		if (!err && refused) err = note_skip(request, due->rule->id, i, refused);
		if (err) return err;
		done |= !refused;
	}
	if (!done || !rule->once_per_pass) return OK;
	return rule_fired_put(request->view, plan->account, due->rule->id, plan->number);
}

enum err event_occurred(struct request *request, const struct rules_plan *plan, uint32_t subject)
{
	enum err err = fan_out(request, plan->event, subject);
	for (unsigned i = 0; !err && i < plan->count; i++)
		err = run(request, plan, &plan->due[i]);
	return err;
}
