/* PASS_ISSUE, by the shard itself: the images of a pass are there, or cannot be fetched. A client that created the pass with an
 * idempotency key and got 201 in time gets 201 again. */
#include "actors/shard/rule/rule.h"

#include "schemas/api/issuing.h"
#include "store/idempotency.h"
#include "store/issuing.h"

/* The text that the pass has room for. */
static enum err put_error(struct request *request, const struct hot_at *pass, struct span error)
{
	struct body body;
	enum err    err = pass_body(request, pass, &body);
	if (err) return err;
	body.creation_error = error;
	size_t size = body_size(&body),
	       over = size > PASS_STORED_BYTES_MAX ? size - PASS_STORED_BYTES_MAX : 0;
	body.creation_error = utf8_cut(error, over < error.size ? error.size - over : 0);
	return pass_body_put(request, pass->account, pass->number, &body);
}

/* The key's row may be gone, or another's, by now. */
static enum err tell_key(struct request *request, const struct issuing *row, uint32_t number)
{
	struct idempotency_row kept;
	if (!row->has_key) return OK;
	enum err err = idempotency_get(request->view, request->account->id, row->key, &kept);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	if (kept.recipe.what != RECIPE_PASS || kept.recipe.number != number) return OK;
	kept.recipe.flags = 0;
	return idempotency_replace(request->view, request->account->id, row->key, &kept);
}

static enum err issue(struct request *request, const struct hot_at *pass, const struct issuing *row)
{
	struct hot_at     after = *pass;
	struct rules_plan rules;
	after.now.status = PASS_ISSUED;
	enum err err = rules_plan(request, EVENT_PASS_CREATED, &after, span_of(NULL, 0), &rules);
	if (!err) err = pass_change(request, pass, after.now, (struct ledger_row){.what = LEDGER_ISSUED});
	if (!err && arg_boolean(&request->args[ARG_PASS_ISSUE_in_time], false))
		err = tell_key(request, row, pass->number);
	return err ? err : event_occurred(request, &rules, pass->number);
}

enum err on_PASS_ISSUE(struct request *request, struct outcome *outcome)
{
	struct hot_at  pass;
	struct issuing row;
	uint32_t       number = (uint32_t)arg_integer(&request->args[ARG_PASS_ISSUE_number], 0);
	struct span    error = arg_span(&request->args[ARG_PASS_ISSUE_error]);
	enum err       err = hot_get(request->view, request->account->id, number, &pass);
	(void)outcome;
	if (err) return err;
	if (pass.now.status != PASS_CREATING) return ERR_RESOURCE_CONFLICT;
	if ((err = issuing_get(request->view, pass.account, number, &row))) return err;
	if (error.size == 0) return issue(request, &pass, &row);
	struct hot after = pass.now;
	after.status = PASS_CREATION_FAILED;
	if ((err = put_error(request, &pass, error))) return err;
	return pass_change(request, &pass, after, (struct ledger_row){.what = LEDGER_CREATION_FAILED});
}
