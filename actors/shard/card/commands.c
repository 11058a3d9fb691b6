/* The commands of cards. */
#include "actors/shard/card/card.h"
#include "actors/shard/list/list_in.h"
#include "actors/shard/list/list_out.h"
#include "schemas/object_msgpack.h"
#include "actors/shard/pass/pass.h"
#include "schemas/api/card.h"

/* card link ACCOUNT --pass PASS_ID --code CODE: the code stands for the pass from now on. At most one linked card has a code.
 * The card of a deleted pass gives its code up to the new card and is unlinked. */

/* Unlinks the card that has the code, if its pass is deleted. */
static enum err free_code(struct request *request, struct outcome *outcome, struct span code)
{
	struct card   holder;
	struct hot_at pass;
	enum err      err = card_of_code(request->view, request->account->id, code, &holder);
	if (err) return err == ERR_NOT_FOUND ? OK : err;
	err = hot_get(request->view, request->account->id, holder.pass_number, &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (!(pass.now.flags & HOT_DELETED)) return refuse(outcome, REASON_OF_ALL(CARD_TAKEN));
	holder.linked = false;
	return card_put(request->view, request->account->id, &holder);
}

enum err on_CARD_LINK(struct request *request, struct outcome *outcome)
{
	struct hot_at  pass;
	struct card    card = {.linked = true, .created = request->now};
	msgpack_packer pk = buffer_packer(outcome->payload);
	card.code = arg_span(&request->args[ARG_CARD_LINK_code]);
	if (!text_is_plain(card.code, CARD_CODE_BYTES_MAX))
		return refuse(outcome, REASON(PLAIN_TEXT, "code", .most = CARD_CODE_BYTES_MAX));
	enum err err = pass_find(request, arg_span(&request->args[ARG_CARD_LINK_pass_id]), false, &pass);
	if (err || (err = free_code(request, outcome, card.code))) return err;
	card.pass_number = pass.number;
	card.id = uuid_draw(request);
	if ((err = card_put(request->view, request->account->id, &card))) return err;
	pack_id(&pk, card.id);
	return OK;
}

/* GET /v1/passes/{id}/cards, and card list ACCOUNT: linked and unlinked cards, the newest first. The client gets those of the
 * pass that now has the id, not those of a deleted one; the operator may ask for those of all passes. */
static enum err list_of_pass(struct request *request, struct span pass_id, struct list_out *list)
{
	const msgpack_object *args = request->args;
	int64_t               skip = arg_integer(&args[ARG_CARD_LIST_offset], 0);
	uint64_t              left = list_take_limit(request, &args[ARG_CARD_LIST_limit], PAGE_LIMIT_DEFAULT);
	struct account_id     account = request->account->id;
	struct hot_at         pass;
	struct card           card;
	enum err              err = pass_find(request, pass_id, false, &pass);
	if (err) return err;
	err = card_newest(request->view, account, pass.number, &card);
	for (; !err && left; err = left ? card_older(request->view, account, &card) : OK) {
		if (skip) {
			skip--;
			continue;
		}
		msgpack_packer pk = buffer_packer(list_item(list));
		card_pack(&card, pass_id, &pk);
		left--;
		if ((err = list_may_go_on(list, request))) return err;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err list_of_account(struct request *request, struct list_out *list)
{
	struct hot_at pass = {.account = request->account->id};
	struct buffer room = {0};
	struct card   card;
	struct body   body;
	enum err      err = OK;
	memset(card.id.b, 0xff, sizeof card.id.b); /* above every UUID */
	while (!err && !(err = card_made_before(request->view, pass.account, &card))) {
		pass.number = card.pass_number;
		if ((err = pass_body_in(request, &pass, &room, &body))) break;
		msgpack_packer pk = buffer_packer(list_item(list));
		card_pack(&card, body.pass_id, &pk);
		err = list_may_go_on(list, request);
	}
	buffer_free(&room);
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err on_CARD_LIST(struct request *request, struct outcome *outcome)
{
	const msgpack_object *pass_id = &request->args[ARG_CARD_LIST_pass_id];
	struct list_out       list;
	list_begin(&list, outcome);
	enum err err = arg_present(pass_id) ? list_of_pass(request, arg_span(pass_id), &list)
	                                    : list_of_account(request, &list);
	if (!err) err = list_end(&list, 0, false); /* neither is in the response */
	list_drop(&list);
	return err;
}

/* card unlink ACCOUNT ID: the card stays in the list of its pass, and its code is free. */
enum err on_CARD_UNLINK(struct request *request, struct outcome *outcome)
{
	struct card    card;
	struct uuid    id;
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = arg_uuid(&request->args[ARG_CARD_UNLINK_card_id], &id);
	if (!err) err = card_get(request->view, request->account->id, id, &card);
	if (err) return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
	if (!card.linked) return refuse(outcome, REASON_OF_ALL(CARD_UNLINKED));
	card.linked = false;
	if ((err = card_put(request->view, request->account->id, &card))) return err;
	msgpack_pack_map(&pk, 0);
	return OK;
}
