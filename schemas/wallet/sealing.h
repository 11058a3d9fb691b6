#pragma once
#include "schemas/buffer.h"
#include "schemas/ids.h"
#include "schemas/secret.h"
#include "schemas/wallet/kind.h"

/* The private keys of a credential for wallets, sealed for the disk (schemas/secret.h). What is sealed: the size of the key,
 * u16 little-endian | the key | the p8. Any thread. Only a shard and the timer may derive the purpose's key. */
#define WALLET_CREDENTIAL_PURPOSE "stampede wallet credentials 1"

/* Whose keys they are: a copy under another account, name or generation does not open. */
struct wallet_seal {
	struct account_id account; /* nil: the operator's default */
	enum wallet_kind  kind;
	uint64_t          number;
	uint32_t          generation;
};

struct wallet_keys {
	struct span key; /* PKCS#8 in DER: of the pass certificate, or of the service account */
	struct span p8;  /* likewise, of Apple's provider token; empty: none */
};

/* Appends what is stored to `sealed`. `nonce` is random and never used again. Errors: ERR_NO_MEMORY; ERR_TOO_LARGE (a key
 * beyond 65535 bytes). */
must_check enum err wallet_seal(const uint8_t key[SECRET_KEY_BYTES], const uint8_t nonce[SECRET_NONCE_BYTES],
                                const struct wallet_seal *whose, const struct wallet_keys *keys,
                                struct buffer *sealed);

/* The keys point into `plain`, which must be empty; wallet_keys_forget() ends them, after an error too. Errors: ERR_SEALED
 * (another master key, owner or generation), ERR_DAMAGED, ERR_NO_MEMORY. */
must_check enum err wallet_unseal(const uint8_t key[SECRET_KEY_BYTES], const struct wallet_seal *whose,
                                  struct span sealed, struct buffer *plain, struct wallet_keys *keys);
void                wallet_keys_forget(struct buffer *plain); /* overwrites it, then frees it */
