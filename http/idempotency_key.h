#pragma once
#include "schemas/frame.h"
#include "schemas/span.h"

/* The header Idempotency-Key, by its value without the blanks around it. Pure.
 * Does it hold a key: 1 to 255 visible ASCII characters? */
bool idempotency_key_is_valid(struct span key);

/* What the shard knows a request with such a key by: the key's hash, and that of the request as it was sent: its
 * method, its target with the query, its body. Errors: none. */
void idempotency_of(struct span key, const struct span request[3], struct idempotency *idempotency);
