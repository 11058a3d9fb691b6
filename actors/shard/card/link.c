/* card link ACCOUNT --pass PASS_ID --code CODE: from now on the code stands for the pass. A code is one linked card's at a
 * time; one that a deleted pass still holds goes over to the new card, and the old one is unlinked by that. */
#include "actors/shard/card/card.h"
#include "actors/shard/pass/pass.h"
#include "schemas/api/card.h"

/* Unlinks whoever has the code, if its pass is gone. */
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
	card_pack_id(&card, &pk);
	return OK;
}
