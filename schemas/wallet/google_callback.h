#pragma once
#include "schemas/arena.h"
#include "schemas/err.h"
#include "schemas/span.h"

/* What Google Wallet says of a pass: its holder has saved it, or deleted it. A root key of Google signs an intermediate key, and
 * that signs the message for one issuer. Pure. Source: Google's documentation of callbacks, protocol ECv2SigningOnly. Units: real
 * time in ms since 1970. */
enum {
	GOOGLE_ROOTS_MAX = 8, /* further root keys are not looked at */
	GOOGLE_SIGNATURES_MAX =
	    4, /* of an intermediate key; a body with more is refused: each costs a check for each root key */
	GOOGLE_CALLBACK_TEXT_MAX = 255, /* of an id, and of the nonce */
};

enum google_event { GOOGLE_SAVED = 1, GOOGLE_DELETED };

struct google_callback {
	enum google_event event;
	struct span       object_id, class_id, nonce; /* never of size 0 */
	int64_t           ends_ms;                    /* later than `now_ms` */
};

/* What Google's part of a callback is judged by. */
struct google_judge {
	struct span roots; /* Google's root keys: the JSON text, as fetched */
	int64_t     now_ms;
};

/* A callback whose intermediate key a root key has signed. Spans live in the arena, or point into the body. */
struct google_opened {
	struct span message, signature, key;
};

/* Is the text a list of keys, as Google serves them? What else a server may answer with is none. */
bool google_keys_are_some(struct span text, struct arena *arena);

/* In three steps, so that Google's part is checked once for all issuers of an account: opens the body; is it signed for the issuer of
 * this id? what does it say? Errors: ERR_INVALID_REQUEST: it is not of Google, too late, or has not its form; ERR_NO_MEMORY. */
must_check enum err google_callback_open(struct span body, const struct google_judge *judge,
                                         struct arena *arena, struct google_opened *opened);
bool                google_callback_is_for(const struct google_opened *opened, struct span issuer_id);
must_check enum err google_callback_message(const struct google_opened *opened, int64_t now_ms,
                                            struct arena *arena, struct google_callback *callback);
