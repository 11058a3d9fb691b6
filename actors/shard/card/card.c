/* Finds a card by its code, and packs one. */
#include "actors/shard/card/card.h"
#include "schemas/object_msgpack.h"

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
	size_t map = map_begin(pk);
#include "schemas/objects/card.def"
}
