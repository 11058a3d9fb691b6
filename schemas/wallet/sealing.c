/* Sealing the private keys of credentials. */
#include "schemas/wallet/sealing.h"

#include "schemas/bytes.h"

#include <openssl/crypto.h>

enum { SIZE_BYTES = 2, CONTEXT_BYTES = sizeof(struct account_id) + 1 + 8 + 4 };

static struct span context_of(const struct wallet_seal *whose, uint8_t context[CONTEXT_BYTES])
{
	size_t at = sizeof whose->account.b;
	memcpy(context, whose->account.b, at);
	context[at] = (uint8_t)whose->kind;
	put_be64(context + at + 1, whose->number);
	put_be32(context + at + 9, whose->generation);
	return span_of(context, CONTEXT_BYTES);
}

void wallet_keys_forget(struct buffer *plain)
{
	if (plain->at) OPENSSL_cleanse(plain->at, plain->capacity);
	buffer_free(plain);
}

enum err wallet_seal(const uint8_t key[SECRET_KEY_BYTES], const uint8_t nonce[SECRET_NONCE_BYTES],
                     const struct wallet_seal *whose, const struct wallet_keys *keys, struct buffer *sealed)
{
	uint8_t       size[SIZE_BYTES], context[CONTEXT_BYTES];
	struct buffer plain = {0};
	size_t        whole = SIZE_BYTES + keys->key.size + keys->p8.size;
	enum err      err = ERR_NO_MEMORY;
	if (keys->key.size > UINT16_MAX || keys->p8.size > UINT16_MAX) return ERR_TOO_LARGE;
	put_le16(size, (uint16_t)keys->key.size);
	if (!buffer_reserve(&plain, whole)) goto out; /* at once, so that no copy is left behind */
	buffer_append(&plain, size, sizeof size);
	buffer_append(&plain, keys->key.at, keys->key.size);
	buffer_append(&plain, keys->p8.at, keys->p8.size);
	uint8_t *room = buffer_reserve(sealed, whole + SECRET_SEAL_BYTES);
	if (room) err = secret_seal(key, nonce, context_of(whose, context), buffer_span(&plain), room);
	if (!err) sealed->size += whole + SECRET_SEAL_BYTES;
out:
	wallet_keys_forget(&plain);
	return err;
}

enum err wallet_unseal(const uint8_t key[SECRET_KEY_BYTES], const struct wallet_seal *whose,
                       struct span sealed, struct buffer *plain, struct wallet_keys *keys)
{
	uint8_t context[CONTEXT_BYTES];
	if (sealed.size < SECRET_SEAL_BYTES + SIZE_BYTES) return ERR_DAMAGED;
	uint8_t *room = buffer_reserve(plain, sealed.size - SECRET_SEAL_BYTES);
	if (!room) return ERR_NO_MEMORY;
	enum err err = secret_open(key, context_of(whose, context), sealed, room);
	if (err) return err == ERR_DAMAGED ? ERR_SEALED : err;
	plain->size += sealed.size - SECRET_SEAL_BYTES;
	size_t size = get_le16(room), rest = plain->size - SIZE_BYTES;
	if (size > rest) return ERR_DAMAGED;
	keys->key = span_of(room + SIZE_BYTES, size);
	keys->p8 = span_of(room + SIZE_BYTES + size, rest - size);
	return OK;
}
