#pragma once
#include "actors/shard/command.h"

/* Touches: something that many passes show has changed, such as their template. Their phones are to be pushed to, some passes at a
 * time. Stages the row of WALLET_DUE from which that begins; one that is under way begins again. `template`: its number, or
 * WALLET_EVERY_TEMPLATE. Nothing without Apple's wallet on this server. Errors: as view.h. */
must_check enum err wallet_touch_passes(struct request *request, uint32_t template);

enum { TOUCH_STEP_MAX = 31 }; /* passes of one step */
