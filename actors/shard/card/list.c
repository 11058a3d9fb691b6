/* GET /v1/passes/{id}/cards, and card list ACCOUNT: linked and unlinked ones, the newest first; of this incarnation of a pass,
 * or for the operator of all passes. */
#include "actors/shard/card/card.h"
#include "actors/shard/list/list_in.h"
#include "actors/shard/list/list_out.h"
#include "actors/shard/pass/pass.h"
#include "schemas/api/card.h"

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
	memset(card.id.b, 0xff, sizeof card.id.b); /* no UUID is that */
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
	if (!err) err = list_end(&list, 0, false); /* neither is told */
	list_drop(&list);
	return err;
}
