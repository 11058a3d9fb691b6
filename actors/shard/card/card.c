/* Finding a card, and how it is shown. */
#include "actors/shard/card/card.h"

#include "schemas/date.h"

enum err card_find(struct request *request, struct span code, uint32_t *pass_number)
{
	struct card card;
	if (!text_is_plain(code, CARD_CODE_BYTES_MAX)) return ERR_RESOURCE_NOT_FOUND;
	enum err err = card_of_code(request->view, request->account->id, code, &card);
	*pass_number = card.pass_number;
	return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

void card_pack(const struct card *card, struct span pass_id, msgpack_packer *pk)
{
	char id[UUID_TEXT], created[RFC3339_TEXT];
	uuid_text(card->id, id);
	rfc3339_text(card->created, created);
	msgpack_pack_map(pk, 5);
	pack_text(pk, "id");
	pack_text(pk, id);
	pack_text(pk, "pass_id");
	pack_str(pk, pass_id);
	pack_text(pk, "code");
	pack_str(pk, card->code);
	pack_text(pk, "status");
	pack_text(pk, card->linked ? "linked" : "unlinked");
	pack_text(pk, "created_at");
	pack_text(pk, created);
}

void card_pack_id(const struct card *card, msgpack_packer *pk)
{
	char id[UUID_TEXT];
	uuid_text(card->id, id);
	msgpack_pack_map(pk, 1);
	pack_text(pk, "id");
	pack_text(pk, id);
}
