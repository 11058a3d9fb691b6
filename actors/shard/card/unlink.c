/* card unlink ACCOUNT ID: the card stays in the list of its pass, and its code is free. */
#include "actors/shard/card/card.h"
#include "schemas/api/card.h"

enum err on_CARD_UNLINK(struct request *request, struct outcome *outcome)
{
	struct card    card;
	struct uuid    id;
	msgpack_packer pk = buffer_packer(outcome->payload);
	if (!uuid_read(arg_span(&request->args[ARG_CARD_UNLINK_card_id]), &id)) return ERR_RESOURCE_NOT_FOUND;
	enum err err = card_get(request->view, request->account->id, id, &card);
	if (err) return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
	if (!card.linked) return refuse(outcome, REASON_OF_ALL(CARD_UNLINKED));
	card.linked = false;
	if ((err = card_put(request->view, request->account->id, &card))) return err;
	msgpack_pack_map(&pk, 0);
	return OK;
}
