#pragma once
#include "actors/shard/command.h"
#include "store/card.h"

/* What the commands on cards share, and what a scan asks of them. Errors: as view.h, and those named. */

/* The pass that a code is linked to: one that may have been deleted. A point read. Errors: ERR_RESOURCE_NOT_FOUND. */
must_check enum err card_find(struct request *request, struct span code, uint32_t *pass_number);

/* Packs it as the interface prints it, as a card of the pass `pass_id`. */
void card_pack(const struct card *card, struct span pass_id, msgpack_packer *packer);

/* Packs {"id": ...}. */
void card_pack_id(const struct card *card, msgpack_packer *packer);
