/* POST /v1/passes/{id}/loyalty: the counter is the exact sum of all accepted deltas, within its bounds. */
#include "actors/shard/notification/notification.h"
#include "actors/shard/rule/rule.h"
#include "schemas/api/pass.h"

enum err on_PASS_LOYALTY(struct request *request, struct outcome *outcome)
{
	struct hot_at     pass;
	struct rules_plan rules;
	enum cause        dead;
	const struct template *template;
	struct span pass_id = arg_span(&request->args[ARG_PASS_LOYALTY_pass_id]);
	int64_t     delta = arg_integer(&request->args[ARG_PASS_LOYALTY_balance_to_add], 0);
	struct span message = arg_span(&request->args[ARG_PASS_LOYALTY_message]);
	if (message.size && !notification_message_is_good(message))
		return refuse(outcome, REASON(MESSAGE_TEXT, "message", .most = NOTIFICATION_CODE_POINTS_MAX));
	enum err err = pass_find(request, pass_id, false, &pass);
	if (err || (err = pass_template(request, &pass.now, &template))) return err;
	struct hot_at after = pass;
	err = pass_plan_balance(template, pass.now.balance, delta, &after.now.balance);
	if (err == ERR_NO_LOYALTY_PROGRAM) return err;
	if (err == ERR_INVALID_INPUT)
		return refuse(outcome, REASON(COUNTER_BOUNDS, "balance_to_add", .least = -BALANCE_MAX,
		                              .most = BALANCE_MAX));
	if ((dead = pass_is_dead(&pass.now))) /* after what is wrong with the amount: 400 comes before 409 */
		return refuse(outcome, &(struct reason){.cause = dead});
	if (err == ERR_INSUFFICIENT_BALANCE)
		return refuse(outcome, REASON_OF_ALL(COUNTER_FLOOR, .least = template->min_balance,
		                                     .most = after.now.balance));
	if (err || (err = rules_plan(request, EVENT_PASS_BALANCE_UPDATE, &after, span_of(NULL, 0), &rules)))
		return err;
	err = pass_change(request, &pass, after.now,
	                  (struct ledger_row){.what = LEDGER_LOYALTY, .delta = delta});
	if (!err && message.size) err = notify_pass(request, pass.number, message); /* an empty one is none */
	return err ? err : event_occurred(request, &rules, pass.number);
}
