/* The id of a master key. */
#include "schemas/master_key.h"

#include <openssl/sha.h>
#include <string.h>

void master_key_id(const uint8_t key[MASTER_KEY_BYTES], uint8_t id[MASTER_KEY_ID])
{
	uint8_t sha256[SHA256_DIGEST_LENGTH];
	SHA256(key, MASTER_KEY_BYTES, sha256);
	memcpy(id, sha256, MASTER_KEY_ID);
}
