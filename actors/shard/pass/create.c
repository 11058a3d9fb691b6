/* POST /v1/passes. Everything is checked first; then the issuer is asked (the command is parked and comes again
 * with `prepared` set), and only its yes lets the pass be stored. With nothing to fetch it is issued at once. */
#include "actors/shard/pass/pass.h"
#include "actors/shard/token.h"
#include "store/index.h"
#include "store/tally.h"

static const msgpack_object empty_map = {.type = MSGPACK_OBJECT_MAP};

/* What can be judged without the template: it comes first (document's and decisions' order of checks). */
static enum err take_plain(struct request *request, struct outcome *outcome, struct body *body)
{
	const msgpack_object *hidden = &request->args[ARG_PASS_CREATE_hidden];
	const msgpack_object *appearance = &request->args[ARG_PASS_CREATE_appearance];
	*body = (struct body){.pass_id = arg_span(&request->args[ARG_PASS_CREATE_pass_id])};
	if (!pass_id_is_valid(body->pass_id)) return blame(outcome, ERR_INVALID_INPUT, span_str("pass_id"));
	/* On creation a null in `hidden` is a value like any other: there is nothing to remove. */
	enum err err = object_text_of(arg_present(hidden) ? hidden : &empty_map, view_arena(request->view),
	                              &body->hidden);
	if (err || !arg_present(appearance)) return err;
	if ((err = pass_check_appearance(request, outcome, appearance))) return err;
	if ((err = pass_take_appearance(request, appearance, body)) || body->appearance.size) return err;
	return blame(outcome, ERR_INVALID_INPUT, span_str("appearance"));
}

/* Is the id held by a live pass? */
static enum err check_free(struct request *request, struct span pass_id)
{
	struct hot_at other;
	enum err      err = pass_find(request, pass_id, false, &other);
	if (err == ERR_RESOURCE_NOT_FOUND) return OK;
	return err ? err : ERR_RESOURCE_CONFLICT;
}

static enum err store_pass(struct request *request, struct body *body, uint32_t template)
{
	struct account_id account = request->account->id;
	struct tally      tally;
	struct ledger_row row = {.what = LEDGER_CREATED, .status = PASS_CREATING};
	struct hot        hot = {.status = PASS_ISSUED,
	                         .template = (uint16_t) template,
	                         .created = request->now,
	                         .updated = request->now};
	enum err          err = tally_get(request->view, account, &tally);
	if (err) return err;
	struct index_change change = {
	    .account = account,
	    .number = tally.made,
	    .name_field = request->account->templates[template - 1]->rules.name_field,
	    .after = body};
	if ((err = index_put(request->view, &change))) return err;
	row.number = tally.made;
	if ((err = pass_ledger(request, &row, &row.previous))) return err;
	row.what = LEDGER_ISSUED;
	row.status = PASS_ISSUED;
	if ((err = pass_ledger(request, &row, &hot.ledger_head))) return err;
	token_make(request->facts->master_key, account, tally.made, body->token);
	if ((err = pass_body_put(request, account, tally.made, body))) return err;
	if ((err = hot_add(request->view, account, tally.made, &hot))) return err;
	tally.made++;
	tally.counts[hot_count(&hot)]++;
	return tally_put(request->view, account, &tally);
}

enum err on_PASS_CREATE(struct request *request, struct outcome *outcome)
{
	uint32_t      number;
	struct hot_at pass;
	struct body   body;
	struct tally  tally;
	const msgpack_object *template = &request->args[ARG_PASS_CREATE_pass_template_id];
	const msgpack_object *visible = &request->args[ARG_PASS_CREATE_visible];
	enum err              err = take_plain(request, outcome, &body);
	if (err || (err = choose_template(request, template, &number))) return err;
	const struct template *rules = &request->account->templates[number - 1]->rules;
	if (!arg_present(visible)) visible = &empty_map;
	if ((err = pass_take_visible(request, outcome, rules, visible, &body))) return err;
	if (body_size(&body) > PASS_STORED_BYTES_MAX) return ERR_PAYLOAD_TOO_LARGE;
	if ((err = check_free(request, body.pass_id))) return err;
	if (!request->prepared) return ERR_PARKED;
	if ((err = tally_get(request->view, request->account->id, &tally))) return err;
	if ((err = store_pass(request, &body, number))) return err;
	outcome->recipe = (struct recipe){.what = RECIPE_PASS, .number = tally.made};
	if ((err = hot_get(request->view, request->account->id, tally.made, &pass))) return err;
	return pass_show(request, &pass, outcome->payload);
}
