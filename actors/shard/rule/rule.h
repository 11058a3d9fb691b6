#pragma once
#include "actors/shard/pass/pass.h"
#include "schemas/event.h"
#include "store/rule.h"

/* Activation rules: what follows from a fact about a pass, in the fact's own commit. Errors: as view.h. */

/* The actions to run, and what they need of the tables. Lives in the view's arena. */
struct rules_plan {
	enum event_kind   event;
	struct account_id account;
	uint32_t          number; /* of the pass */
	unsigned          count;
	struct rule_due  *due;
};

/* Holds the active rules of the request's account against a fact. `pass->now` is the pass as the fact leaves it: it need
 * not be in the tables yet. `reader` is the id of the reader that scanned it, of size 0 where there is none. Range reads:
 * before the command's first write. */
must_check enum err rules_plan(struct request *request, enum event_kind event, const struct hot_at *pass,
                               struct span reader, struct rules_plan *plan);

/* The event has happened, and everything that it changes itself is staged: subscriptions get it, then the plan is carried out.
 * `subject`: the number of the pass or scan. An action that cannot be done leaves nothing, and the others are done all the
 * same; nothing that is done here is an event to other rules. A plan of no actions is fine. */
must_check enum err event_occurred(struct request *request, const struct rules_plan *plan, uint32_t subject);

/* Does a rule of the request's account, active or not, assign the reward? Range reads, likewise. */
must_check enum err rules_name_slug(const struct request *request, struct span slug, bool *named);

/* Does a rule of the account, active or not, ask for that template? `*rule`: the oldest that does. Range reads, likewise. */
must_check enum err rules_name_template(const struct request *request, uint32_t number, struct uuid *rule,
                                        bool *named);

/* Reads the id that a command names. Errors: ERR_RESOURCE_NOT_FOUND, for what is no id too. */
must_check enum err rule_find(struct request *request, const msgpack_object *id, struct rule_row *row);
