/* GET /v1/passes/{id}/cards: linked and unlinked ones of this incarnation of the pass, the newest first. */
#include "actors/shard/card/card.h"
#include "actors/shard/list/list_out.h"
#include "actors/shard/pass/pass.h"
#include "schemas/api/card.h"

enum err on_CARD_LIST(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	int64_t               skip = arg_integer(&args[ARG_CARD_LIST_offset], 0);
	int64_t               left = arg_integer(&args[ARG_CARD_LIST_limit], PAGE_LIMIT_DEFAULT);
	struct account_id     account = request->account->id;
	struct hot_at         pass;
	struct card           card;
	struct list_out       list;
	struct span           pass_id = arg_span(&args[ARG_CARD_LIST_pass_id]);
	enum err              err = pass_find(request, pass_id, false, &pass);
	if (err) return err;
	list_begin(&list, outcome);
	err = card_newest(request->view, account, pass.number, &card);
	for (; !err && left; err = left ? card_older(request->view, account, &card) : OK) {
		if (skip) {
			skip--;
			continue;
		}
		msgpack_packer pk = buffer_packer(list_item(&list));
		card_pack(&card, pass_id, &pk);
		left--;
	}
	if (!err || err == ERR_NOT_FOUND) err = list_end(&list, 0, false); /* neither is told */
	list_drop(&list);
	return err;
}
