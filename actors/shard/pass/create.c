/* POST /v1/passes. A pass is stored only if the issuer is available. With nothing to fetch it is issued at once; else it is
 * stored as `creating`, and the row of ISSUING that goes with it begins its issuance. */
#include "actors/shard/pass/images.h"
#include "actors/shard/rule/rule.h"
#include "schemas/api/pass.h"
#include "store/image_use.h"
#include "store/index.h"
#include "store/tally.h"

static const msgpack_object empty_map = {.type = MSGPACK_OBJECT_MAP};

/* The arguments that are checked without the template, so before it (document's and decisions' order of checks). */
static enum err take_plain(struct request *request, struct outcome *outcome, struct body *body)
{
	const msgpack_object *hidden = &request->args[ARG_PASS_CREATE_hidden];
	const msgpack_object *appearance = &request->args[ARG_PASS_CREATE_appearance];
	*body = (struct body){.pass_id = arg_span(&request->args[ARG_PASS_CREATE_pass_id])};
	if (!pass_id_is_valid(body->pass_id))
		return refuse(outcome, REASON(PASS_ID, "pass_id", .most = PASS_ID_BYTES_MAX));
	/* On creation a null in `hidden` is a value like any other: there is nothing to remove. */
	enum err err = object_text_of(arg_present(hidden) ? hidden : &empty_map, view_arena(request->view),
	                              &body->hidden);
	if (err || !arg_present(appearance)) return err;
	if ((err = pass_check_appearance(request, outcome, appearance))) return err;
	if ((err = pass_take_appearance(request, appearance, body)) || body->appearance.size) return err;
	return refuse(outcome, REASON(APPEARANCE_EMPTY, "appearance"));
}

/* Is the id held by a live pass? */
static enum err check_free(struct request *request, struct outcome *outcome, struct span pass_id)
{
	struct hot_at other;
	enum err      err = pass_find(request, pass_id, false, &other);
	if (err == ERR_RESOURCE_NOT_FOUND) return OK;
	return err ? err : refuse(outcome, REASON_OF_ALL(PASS_EXISTS));
}

/* The URLs of images to fetch; size 0: not named. */
static void take_images(const struct request *request, struct issuing *issuing)
{
	const msgpack_object *appearance = &request->args[ARG_PASS_CREATE_appearance];
	*issuing = (struct issuing){.begun = request->now};
	for (uint32_t i = 0; arg_present(appearance) && i < appearance->via.map.size; i++) {
		const msgpack_object_kv *member = &appearance->via.map.ptr[i];
		if (member->val.type != MSGPACK_OBJECT_STR) continue;
		if (span_is(object_text(&member->key), "logo")) issuing->logo = object_text(&member->val);
		if (span_is(object_text(&member->key), "banner")) issuing->banner = object_text(&member->val);
	}
	if (!request->call->idempotency) return;
	issuing->has_key = true;
	memcpy(issuing->key, request->call->idempotency->key, sizeof issuing->key);
}

/* *fetch: images must be fetched. Errors: ERR_OVERLOADED: too many passes wait for images. */
static enum err plan_images(struct request *request, const struct tally *tally, struct issuing *issuing,
                            bool *fetch)
{
	struct missing missing;
	take_images(request, issuing);
	enum err err = images_missing(request->view, request->account->id, issuing, request->now, &missing);
	*fetch = missing.image != NULL;
	if (err || !*fetch) return err;
	bool is_full = tally->counts[PASS_CREATING] >= ISSUING_ACCOUNT_MAX ||
	               atomic_load_explicit(&request->facts->issuing, memory_order_relaxed) >= ISSUING_MAX;
	return is_full ? ERR_OVERLOADED : OK;
}

/* The first row of the history, and the second one if the pass is issued at once. */
static enum err put_history(struct request *request, uint32_t number, struct hot *hot)
{
	struct ledger_row row = {.number = number, .what = LEDGER_CREATED, .status = PASS_CREATING};
	enum err          err = pass_ledger(request, &row, &hot->ledger_head);
	if (err || hot->status == PASS_CREATING) return err;
	row = (struct ledger_row){
	    .number = number, .what = LEDGER_ISSUED, .status = PASS_ISSUED, .previous = hot->ledger_head};
	return pass_ledger(request, &row, &hot->ledger_head);
}

static struct hot new_pass(const struct request *request, uint32_t template, enum pass_status status)
{
	return (struct hot){.status = (uint8_t)status,
	                    .template = (uint16_t) template,
	                    .created = request->now,
	                    .updated = request->now};
}

static enum err store_pass(struct request *request, struct body *body, uint32_t template,
                           enum pass_status status)
{
	struct account_id      account = request->account->id;
	struct tally           tally;
	struct hot             hot = new_pass(request, template, status);
	const struct template *rules;
	enum err               err = tally_get(request->view, account, &tally);
	if (err || (err = pass_template(request, &hot, &rules))) return err;
	struct index_change change = {
	    .account = account, .number = tally.made, .name_field = rules->name_field, .after = body};
	if ((err = index_put(request->view, &change))) return err;
	if ((err = image_uses_move(request->view, account, span_of(NULL, 0), body->appearance))) return err;
	if ((err = put_history(request, tally.made, &hot))) return err;
	token_make(&request->facts->tokens, account, tally.made, body->token);
	if ((err = pass_body_put(request, account, tally.made, body))) return err;
	if ((err = hot_add(request->view, account, tally.made, &hot))) return err;
	tally.made++;
	tally.counts[hot_count(&hot)]++;
	return tally_put(request->view, account, &tally);
}

static enum err create(struct request *request, struct outcome *outcome, struct body *body, uint32_t template)
{
	struct account_id account = request->account->id;
	struct hot_at     pass = {.account = account, .now = new_pass(request, template, PASS_ISSUED)};
	struct tally      tally;
	struct issuing    issuing;
	struct rules_plan rules;
	enum err          err = tally_get(request->view, account, &tally);
	if (err || (err = plan_images(request, &tally, &issuing, &outcome->began))) return err;
	pass.number = tally.made;
	err = rules_plan(request, EVENT_PASS_CREATED, &pass, span_of(NULL, 0), &rules);
	if (err) return err;
	if ((err = store_pass(request, body, template, outcome->began ? PASS_CREATING : PASS_ISSUED)))
		return err;
	if (outcome->began) {
		outcome->flags = REPLY_ACCEPTED;
		err = issuing_put(request->view, account, tally.made, &issuing);
	} else {
		err = event_occurred(request, &rules, tally.made);
	}
	outcome->recipe = (struct recipe){.what = RECIPE_PASS, .number = tally.made};
	if (err || request->of_import) return err;
	if ((err = hot_get(request->view, account, tally.made, &pass))) return err;
	return pass_show(request, &pass, outcome->payload);
}

enum err on_PASS_CREATE(struct request *request, struct outcome *outcome)
{
	uint32_t    number;
	struct body body;
	const msgpack_object *template = &request->args[ARG_PASS_CREATE_pass_template_id];
	const msgpack_object *visible = &request->args[ARG_PASS_CREATE_visible];
	enum err              err = take_plain(request, outcome, &body);
	if (err) return err;
	err = choose_template(request, template, &number);
	if (err == ERR_PASS_TEMPLATE_NOT_FOUND && !arg_present(template))
		return refuse(outcome, REASON_OF_ALL(NO_TEMPLATE));
	const struct template *rules;
	if (err || (err = account_template(request->account, request->view, number, &rules))) return err;
	if (!arg_present(visible)) visible = &empty_map;
	if ((err = pass_take_visible(request, outcome, rules, visible, &body))) return err;
	if ((err = pass_check_size(outcome, &body))) return err;
	if ((err = check_free(request, outcome, body.pass_id))) return err;
	if (!request->can_issue) return ERR_PASS_PROVIDER_UNAVAILABLE;
	return create(request, outcome, &body, number);
}
