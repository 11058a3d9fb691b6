#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

/* Secrets as they may lie on a disk: AES-256-GCM under a key that serves one purpose, derived from the data directory's
 * master key. A sealed secret is nonce 12 | as many bytes as the secret has | tag 16. It opens only with the key and the
 * context that it was sealed with: the context says whose it is, and is not kept in it. Any thread may call these. */
enum {
	SECRET_KEY_BYTES = 32,
	SECRET_NONCE_BYTES = 12,
	SECRET_TAG_BYTES = 16,
	SECRET_SEAL_BYTES = SECRET_NONCE_BYTES + SECRET_TAG_BYTES, /* what sealing adds */
};

/* The key for `purpose`, a text that no other use has: HKDF-SHA256 of the master key. Errors: ERR_NO_MEMORY. */
must_check enum err secret_key(const uint8_t master_key[32], const char *purpose,
                               uint8_t key[SECRET_KEY_BYTES]);

/* Fills plain.size + SECRET_SEAL_BYTES at `sealed`. A nonce is random and never used again. Errors: ERR_NO_MEMORY. */
must_check enum err secret_seal(const uint8_t key[SECRET_KEY_BYTES], const uint8_t nonce[SECRET_NONCE_BYTES],
                                struct span context, struct span plain, uint8_t *sealed);

/* Fills sealed.size - SECRET_SEAL_BYTES at `plain`; nothing of it is left there after an error.
 * Errors: ERR_DAMAGED (cut, changed, of another key or context), ERR_NO_MEMORY. */
must_check enum err secret_open(const uint8_t key[SECRET_KEY_BYTES], struct span context, struct span sealed,
                                uint8_t *plain);
