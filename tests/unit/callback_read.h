#pragma once
#include "schemas/wallet/google_callback.h"

/* A callback through all steps. Errors: as schemas/wallet/google_callback.h; also ERR_INVALID_REQUEST: it is for another issuer. */
static inline enum err callback_read(struct span body, const struct google_judge *judge,
                                     const char *issuer_id, struct arena *arena,
                                     struct google_callback *callback)
{
	struct google_opened opened;
	enum err             err = google_callback_open(body, judge, arena, &opened);
	if (err) return err;
	if (!google_callback_is_for(&opened, span_str(issuer_id))) return ERR_INVALID_REQUEST;
	return google_callback_message(&opened, judge->now_ms, arena, callback);
}
