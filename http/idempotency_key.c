/* A key and its request, as hashes. Requests are the same if their bytes are: a different spelling is another request, even
 * with the same meaning. Neither a method nor a target can contain a blank or a line end, so the hashed text has one reading. */
#include "http/idempotency_key.h"

#include "schemas/limits.h"
#include "schemas/sha256.h"

bool idempotency_key_is_valid(struct span key)
{
	if (key.size == 0 || key.size > IDEMPOTENCY_KEY_BYTES_MAX) return false;
	for (size_t i = 0; i < key.size; i++)
		if (key.at[i] <= ' ' || key.at[i] >= 0x7f) return false;
	return true;
}

void idempotency_of(struct span key, const struct span request[3], struct idempotency *idempotency)
{
	const struct span pieces[] = {request[0], span_str(" "), request[1], span_str("\n"), request[2]};
	sha256_of(&key, 1, idempotency->key);
	sha256_of(pieces, sizeof pieces / sizeof *pieces, idempotency->request);
}
