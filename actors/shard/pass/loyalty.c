/* POST /v1/passes/{id}/loyalty: the counter is the exact sum of all accepted deltas, within its bounds. */
#include "actors/shard/delivery/fan_out.h"
#include "actors/shard/pass/pass.h"

/* Neither sum nor bound can overflow: both operands are within BALANCE_MAX of zero. */
static enum err plan_balance(const struct template *template, int64_t balance, int64_t delta, int64_t *after)
{
	*after = balance + delta;
	if (*after > BALANCE_MAX || *after < -BALANCE_MAX) return ERR_INVALID_INPUT;
	if (delta < 0 && template->has_min_balance && *after < template->min_balance)
		return ERR_INSUFFICIENT_BALANCE;
	return OK;
}

enum err on_PASS_LOYALTY(struct request *request, struct outcome *outcome)
{
	struct hot_at pass;
	const struct template *template;
	struct span pass_id = arg_span(&request->args[ARG_PASS_LOYALTY_pass_id]);
	int64_t     delta = arg_integer(&request->args[ARG_PASS_LOYALTY_balance_to_add], 0);
	enum err    err = pass_find(request, pass_id, false, &pass);
	if (err || (err = pass_template(request->account, &pass.now, &template))) return err;
	if (template->loyalty == LOYALTY_NONE) return ERR_NO_LOYALTY_PROGRAM;
	struct hot after = pass.now;
	err = plan_balance(template, pass.now.balance, delta, &after.balance);
	if (err == ERR_INVALID_INPUT) return blame(outcome, err, span_str("balance_to_add"));
	if (pass.now.status == PASS_DEACTIVATED || pass.now.status == PASS_CREATION_FAILED)
		return ERR_RESOURCE_CONFLICT; /* after what is wrong with the amount: 400 comes before 409 */
	if (err) return err;
	err = pass_change(request, &pass, after, (struct ledger_row){.what = LEDGER_LOYALTY, .delta = delta});
	return err ? err : fan_out(request, EVENT_PASS_BALANCE_UPDATE, pass.number);
}
