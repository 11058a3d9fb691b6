#pragma once
#include "actors/shard/command.h"

/* Touches: something that many passes show has changed, such as their template. Their phones are to be pushed to, some passes at a
 * time. Stages the row of WALLET_DUE from which that begins, at `due`; one that is under way begins again. `template`: its number, or
 * WALLET_EVERY_TEMPLATE, or WALLET_EVERY_PHONE. Nothing without a wallet on this server. Errors: as view.h. */
must_check enum err wallet_touch_passes(struct request *request, uint32_t template, wall_us due);

/* Stages that a template looks different now, though its text is the same, and its passes are touched. Point reads. */
must_check enum err wallet_touch_template(struct request *request, uint32_t number);

enum { TOUCH_STEP_MAX = 31 }; /* passes of one step */
