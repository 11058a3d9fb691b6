#pragma once
#include "actors/shard/command.h"
#include "schemas/wallet/settings.h"

/* A phone shows a pass in the style in which it was installed, so the style of a template is fixed while any of its passes is
 * `active`, or has ended and is still registered by a phone. Refuses another one. Range reads. Errors: ERR_RESOURCE_CONFLICT; as view.h. */
must_check enum err template_check_style(struct request *request, struct outcome *outcome, uint32_t number,
                                         enum wallet_style style);
