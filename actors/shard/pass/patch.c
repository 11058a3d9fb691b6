/* PATCH /v1/passes/{id}: members given are merged, null removes one, a PATCH that changes nothing leaves
 * updated_at where it was. The counter is not written here. */
#include "actors/shard/pass/pass.h"
#include "actors/shard/wallet/new_pictures.h"
#include "actors/shard/wallet/wallet.h"
#include "schemas/api/pass.h"
#include "schemas/wallet/edited.h"
#include "store/image_use.h"
#include "store/index.h"
#include "store/keys.h"

static enum err take_changes(struct request *request, struct outcome      *outcome,
                             const struct template *template, struct body *body)
{
	const msgpack_object *hidden = &request->args[ARG_PASS_PATCH_hidden];
	const msgpack_object *appearance = &request->args[ARG_PASS_PATCH_appearance];
	const msgpack_object *visible = &request->args[ARG_PASS_PATCH_visible];
	enum err              err = OK;
	if (appearance->type == MSGPACK_OBJECT_MAP)
		err = pass_take_appearance(request, appearance, body);
	else if (arg_present(appearance))
		body->appearance = span_of(NULL, 0);
	if (err) return err;
	if (arg_present(visible) && (err = pass_take_visible(request, outcome, template, visible, body)))
		return err;
	return arg_present(hidden) ? pass_take_hidden(request, hidden, body) : OK;
}

/* Is the body, packed again, equal to the stored one? */
static enum err is_stored(struct request *request, const struct hot_at *pass, const struct body *body,
                          bool *same)
{
	struct row_key key = key_u32(pass->account, pass->number);
	struct buffer  bytes = {0};
	struct span    value;
	enum err       err = view_get(request->view, TABLE_BODY, key_span(&key), &value);
	body_pack(body, &bytes);
	if (!err && bytes.failed) err = ERR_NO_MEMORY;
	*same = !err && span_equal(value, buffer_span(&bytes));
	buffer_free(&bytes);
	return err;
}

/* The field whose change the wallet of the pass announces; of what is installed nowhere, none. */
static enum err find_edited(struct request *request, const struct hot_at *pass, struct wallet_edit edit,
                            uint8_t *field)
{
	struct wallet_settings        room;
	const struct wallet_settings *settings;
	*field = span_equal(edit.before, edit.after) ? LEDGER_SHOWS_NOTHING : 0;
	if (*field || !wallet_kinds_here(request) || pass->now.status != PASS_ACTIVE) return OK;
	enum err err = account_template_wallet(request->account, request->view, pass->now.template, &room,
	                                       &settings);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	edit.settings = settings;
	return wallet_edited_field(&edit, view_arena(request->view), field);
}

/* Wallets look for changes in the ledger. Those of hidden data do not concern them, nor does a pass that has ended. */
static enum err note_change(struct request *request, const struct hot_at *pass, bool is_seen, uint8_t field)
{
	struct hot after = pass->now;
	after.updated = request->now;
	if (!is_seen || pass_is_dead(&pass->now)) return hot_put(request->view, pass, &after);
	return pass_change(request, pass, after, (struct ledger_row){.what = LEDGER_EDITED, .field = field});
}

enum err on_PASS_PATCH(struct request *request, struct outcome *outcome)
{
	struct hot_at pass;
	const struct template *template;
	struct body           body, before;
	bool                  same;
	uint8_t               field;
	const msgpack_object *appearance = &request->args[ARG_PASS_PATCH_appearance];
	enum err              err = OK;
	/* An error that needs no look at the pass is returned first, even if there is no such pass. */
	if (appearance->type == MSGPACK_OBJECT_MAP) err = pass_check_appearance(request, outcome, appearance);
	if (!err) err = pass_find(request, arg_span(&request->args[ARG_PASS_PATCH_pass_id]), false, &pass);
	if (err || (err = pass_template(request, &pass.now, &template))) return err;
	if ((err = pass_body(request, &pass, &body))) return err;
	before = body;
	if ((err = take_changes(request, outcome, template, &body))) return err;
	if ((err = pass_check_size(outcome, &body))) return err; /* before its texts are folded */
	if ((err = is_stored(request, &pass, &body, &same)) || same) return err;
	const struct wallet_edit edit = {
	    .template = template, .before = before.visible, .after = body.visible};
	if ((err = find_edited(request, &pass, edit, &field))) return err;
	struct index_change change = {.account = pass.account,
	                              .number = pass.number,
	                              .name_field = template->name_field,
	                              .before = &before,
	                              .after = &body};
	if (!span_equal(before.visible, body.visible) && (err = index_put(request->view, &change)))
		return err;
	if ((err = image_uses_move(request->view, pass.account, before.appearance, body.appearance)))
		return err;
	bool has_looks = !span_equal(before.appearance, body.appearance);
	if (has_looks && (err = pictures_change(request, &pass, template, &before, &body))) return err;
	if ((err = pass_body_put(request, pass.account, pass.number, &body))) return err;
	bool is_seen = has_looks || !span_equal(before.visible, body.visible);
	return note_change(request, &pass, is_seen, field);
}
