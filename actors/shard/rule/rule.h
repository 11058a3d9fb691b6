#pragma once
#include "actors/shard/pass/pass.h"
#include "schemas/event.h"
#include "store/rule.h"

/* Activation rules: the actions that follow an event of a pass, in the commit of the event. Errors: as view.h. */

/* The actions to run, with the rows that they need. Lives in the view's arena. */
struct rules_plan {
	enum event_kind   event;
	struct account_id account;
	uint32_t          number; /* of the pass */
	unsigned          count;
	struct rule_due  *due;
};

/* Finds the active rules of the request's account whose conditions hold. `pass->now` is the pass after the event; it need not
 * be in the tables yet. `reader` is the id of the reader that scanned it; size 0: none. Range reads, so the command must
 * have staged nothing yet. */
must_check enum err rules_plan(struct request *request, enum event_kind event, const struct hot_at *pass,
                               struct span reader, struct rules_plan *plan);

/* The event's own changes must be staged. Sends the event to subscriptions, then runs the plan. `subject`: the
 * number of the pass or scan. A skipped action changes nothing, and the others still run. Actions here trigger no other
 * rules. A plan may have no actions. */
must_check enum err event_occurred(struct request *request, const struct rules_plan *plan, uint32_t subject);

/* Whether a rule of the request's account, active or not, assigns the reward. Range reads, as above. */
must_check enum err rules_name_slug(const struct request *request, struct span slug, bool *named);

/* Whether a rule of the account, active or not, has that template as a condition; *rule: the oldest. Range reads, as above. */
must_check enum err rules_name_template(const struct request *request, uint32_t number, struct uuid *rule,
                                        bool *named);

/* The rule that a command names. Errors: ERR_RESOURCE_NOT_FOUND (also for a text that is no id). */
must_check enum err rule_find(struct request *request, const msgpack_object *id, struct rule_row *row);
