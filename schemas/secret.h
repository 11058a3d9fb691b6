#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

/* Encrypts secrets for the disk: AES-256-GCM under a key for one purpose, derived from the data directory's master
 * key. A sealed secret is nonce 12 | ciphertext, as long as the secret | tag 16. It opens only with the key and the
 * context of its sealing. The context identifies the owner and is not part of it. Any thread may call these. */
enum {
	SECRET_KEY_BYTES = 32,
	SECRET_NONCE_BYTES = 12,
	SECRET_TAG_BYTES = 16,
	SECRET_SEAL_BYTES = SECRET_NONCE_BYTES + SECRET_TAG_BYTES, /* what sealing adds */
};

/* The key for `purpose`, a unique text: HKDF-SHA256 of the master key. Errors: ERR_NO_MEMORY. */
must_check enum err secret_key(const uint8_t master_key[32], const char *purpose,
                               uint8_t key[SECRET_KEY_BYTES]);

/* Fills plain.size + SECRET_SEAL_BYTES at `sealed`. A nonce is random and never reused. Errors: ERR_NO_MEMORY. */
must_check enum err secret_seal(const uint8_t key[SECRET_KEY_BYTES], const uint8_t nonce[SECRET_NONCE_BYTES],
                                struct span context, struct span plain, uint8_t *sealed);

/* Fills sealed.size - SECRET_SEAL_BYTES at `plain`; nothing remains there after an error. Errors: ERR_DAMAGED (cut,
 * changed, wrong key or context), ERR_NO_MEMORY. */
must_check enum err secret_open(const uint8_t key[SECRET_KEY_BYTES], struct span context, struct span sealed,
                                uint8_t *plain);
