/* Finding a card, and how it is shown. */
#include "actors/shard/card/card.h"

enum err card_find(struct request *request, struct span code, uint32_t *pass_number)
{
	struct card card;
	if (!text_is_plain(code, CARD_CODE_BYTES_MAX)) return ERR_RESOURCE_NOT_FOUND;
	enum err err = card_of_code(request->view, request->account->id, code, &card);
	if (!err) *pass_number = card.pass_number;
	return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

void card_pack(const struct card *card, struct span pass_id, msgpack_packer *pk)
{
	msgpack_pack_map(pk, 5);
	pack_uuid(pk, "id", card->id);
	pack_member(pk, "pass_id", pass_id);
	pack_member(pk, "code", card->code);
	pack_text(pk, "status");
	pack_text(pk, card->linked ? "linked" : "unlinked");
	pack_time(pk, "created_at", card->created);
}

void card_pack_id(const struct card *card, msgpack_packer *pk)
{
	msgpack_pack_map(pk, 1);
	pack_uuid(pk, "id", card->id);
}
