#pragma once
#include "actors/shard/command.h"
#include "store/card.h"

/* Shared by the commands on cards and by scans. Errors: as view.h, and those named. */

/* The pass that a code is linked to; it may be deleted. A point read. Errors: ERR_RESOURCE_NOT_FOUND. */
must_check enum err card_find(struct request *request, struct span code, uint32_t *pass_number);

/* Packs the card as the interface prints it, with the pass's id. */
void card_pack(const struct card *card, struct span pass_id, msgpack_packer *packer);
