#pragma once
#include "schemas/arena.h"
#include "schemas/ids.h"
#include "schemas/json.h"
#include "schemas/limits.h"
#include "schemas/wallet/kind.h"

/* The parts of what a phone sends to the web service of Apple's wallet, and Google to the paths of its own. Pure: strangers send them too. */

/* The wallet, enum wallet_kind, whose phones or servers call such a path; 0: none. */
unsigned phone_wallet_at(struct span path);
bool     phone_is_at(struct span path); /* is there one? */
/* The account in such a path. False: there is none. */
bool phone_account_of(struct span path, struct account_id *account);

/* The authentication token of "ApplePass TOKEN"; of size 0: it is none. */
struct span phone_auth_of(struct span authorization);

/* A segment of the path or a value of the query, decoded into the arena. False: of another form, or no memory. */
must_check bool phone_decode(struct span text, bool is_query, struct arena *arena, struct span *decoded);

/* 1 to DEVICE_ID_BYTES_MAX visible characters; 1 to PUSH_TOKEN_BYTES_MAX hexadecimal digits. */
bool phone_device_is_good(struct span device);
bool phone_push_token_is_good(struct span push_token);

/* The tag of a list's query, decoded; of size 0: none. */
struct span phone_tag_of(struct span query, struct arena *arena);

/* The body of a registration: its push token. Further members are ignored. Errors: ERR_INVALID_REQUEST, ERR_NO_MEMORY,
 * ERR_PAYLOAD_TOO_LARGE. */
must_check enum err phone_push_token_of(struct span body, struct arena *arena, struct span *push_token);
/* The body of a log: its list, of which strings are lines. Likewise. */
must_check enum err phone_logs_of(struct span body, struct arena *arena, const struct json **logs);
