/* POST /v1/passes/{id}/rewards/{entitlement_id}/redeem. Two tills that redeem the last one are two commands, decided one after
 * the other: the second finds nothing left. */
#include "actors/shard/entitlement/entitlement.h"

#include "actors/shard/pass/pass.h"
#include "schemas/api/entitlement.h"
#include "schemas/fold.h"

/* The entitlement that the path names. */
static enum err find(struct request *request, struct outcome *outcome, uint32_t pass, struct entitlement *row)
{
	const msgpack_object *arg = &request->args[ARG_ENTITLEMENT_REDEEM_entitlement_id];
	struct uuid           id;
	enum err              err = arg_uuid(arg, &id);
	if (!err) err = entitlement_get(request->view, request->account->id, pass, id, row);
	return err == ERR_NOT_FOUND ? refuse_missing(outcome, CAUSE_ENTITLEMENT_UNKNOWN, arg_span(arg)) : err;
}

static enum err check_text(const msgpack_object *arg, const char *name, int64_t max, struct outcome *outcome)
{
	if ((int64_t)utf8_length(arg_span(arg)) <= max) return OK;
	return refuse(outcome, REASON(TOO_LONG, name, .most = max, .wanted = "characters"));
}

static enum err check_redeemable(const struct request *request, struct outcome *outcome,
                                 const struct hot *pass, const struct entitlement *row)
{
	int64_t    amount = arg_integer(&request->args[ARG_ENTITLEMENT_REDEEM_amount], 1);
	enum cause dead = entitlement_check_pass(pass);
	if (dead) return refuse(outcome, &(struct reason){.cause = dead});
	if (!entitlement_is_available(row, request->now)) {
		bool is_used = row->state == ENTITLEMENT_REDEEMED;
		return refuse(outcome, is_used ? REASON_OF_ALL(ENTITLEMENT_REDEEMED)
		                               : REASON_OF_ALL(ENTITLEMENT_EXPIRED));
	}
	if (amount <= row->remaining) return OK;
	return refuse(outcome, REASON_OF_ALL(REDEEM_MANY, .most = row->remaining));
}

static enum err note_recipe(struct request *request, const struct redemption *row, struct outcome *outcome)
{
	uint8_t *detail = arena_take(view_arena(request->view), 2 * sizeof(struct uuid));
	if (!detail) return ERR_NO_MEMORY;
	memcpy(detail, row->entitlement.b, sizeof row->entitlement.b);
	memcpy(detail + sizeof row->entitlement.b, row->id.b, sizeof row->id.b);
	outcome->recipe = (struct recipe){.what = RECIPE_REDEMPTION,
	                                  .number = row->pass,
	                                  .detail = span_of(detail, 2 * sizeof(struct uuid))};
	return OK;
}

enum err on_ENTITLEMENT_REDEEM(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	const msgpack_object *context = &args[ARG_ENTITLEMENT_REDEEM_context];
	const msgpack_object *note = &args[ARG_ENTITLEMENT_REDEEM_note];
	int64_t               amount = arg_integer(&args[ARG_ENTITLEMENT_REDEEM_amount], 1);
	struct account_id     account = request->account->id;
	struct span           pass_id = arg_span(&args[ARG_ENTITLEMENT_REDEEM_pass_id]);
	struct hot_at         pass;
	struct entitlement    before, after;
	msgpack_packer        pk = buffer_packer(outcome->payload);
	enum err              err;
	if ((err = check_text(context, "context", REDEMPTION_CONTEXT_MAX, outcome))) return err;
	if ((err = check_text(note, "note", REDEMPTION_NOTE_MAX, outcome))) return err;
	if ((err = pass_find(request, pass_id, false, &pass))) return err;
	if ((err = find(request, outcome, pass.number, &before))) return err;
	if ((err = check_redeemable(request, outcome, &pass.now, &before))) return err;
	after = before;
	after.remaining -= (uint32_t)amount;
	after.updated = request->now;
	if (!after.remaining) after.state = ENTITLEMENT_REDEEMED;
	struct redemption row = {.pass = pass.number,
	                         .entitlement = before.id,
	                         .id = uuid_draw(request),
	                         .amount = (uint32_t)amount,
	                         .remaining = after.remaining,
	                         .created = request->now,
	                         .context = arg_span(context),
	                         .note = arg_span(note)};
	if ((err = entitlement_change(request->view, account, &before, &after))) return err;
	if ((err = redemption_put(request->view, account, &row))) return err;
	if ((err = note_recipe(request, &row, outcome))) return err;
	return redemption_pack(request, &row, &after, pass_id, &pk);
}
