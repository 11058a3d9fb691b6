#pragma once
#include "schemas/frame.h"
#include "schemas/span.h"

/* The value of the header Idempotency-Key without surrounding blanks. Pure. Is it valid: 1 to 255 visible ASCII characters? */
bool idempotency_key_is_valid(struct span key);

/* How the shard identifies such a request: the hash of the key, and of the request as sent: method, target with query, body.
 * Errors: none. */
void idempotency_of(struct span key, const struct span request[3], struct idempotency *idempotency);
