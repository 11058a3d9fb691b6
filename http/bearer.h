#pragma once
#include "schemas/err.h"
#include "schemas/ids.h"
#include "schemas/span.h"

/* Who asks: the API key that a request carries, and where one is needed. Pure. */

/* Is a key needed for this path (without its query)? So it is for all that lies below /v1. */
bool bearer_guards(struct span path);

/* The value of an Authorization header, without the blanks around it: the word Bearer, however its letters are written,
 * blanks, and a key, of which are told the account and the hash of its secret part. Whether such a key exists only the
 * account's shard knows. false: another form. */
must_check bool bearer_read(struct span authorization, struct account_id *account, uint8_t hash[32]);
