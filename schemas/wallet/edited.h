#pragma once
#include "schemas/wallet/settings.h"

/* An edit of a pass: `before` and `after` are its `visible`, JSON objects; size 0: null. */
struct wallet_edit {
	const struct template *template;
	const struct wallet_settings *settings;
	struct span                   before, after;
};

/* Which of the changed fields its wallet shows the change of: the first one of the template that has a text in `changes`. *field:
 * its index from 1; 0: none. The counter is none of them. Pure. Errors: ERR_DAMAGED: no JSON object; ERR_NO_MEMORY. */
must_check enum err wallet_edited_field(const struct wallet_edit *edit, struct arena *arena, uint8_t *field);
