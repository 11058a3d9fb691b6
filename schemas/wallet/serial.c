/* Serial numbers and authentication tokens, by a block cipher and a keyed hash. */
#include "schemas/wallet/serial.h"

#include "schemas/base64url.h"
#include "schemas/secret.h"

#include <openssl/crypto.h>

_Static_assert((int)AES_KEY_BYTES == (int)SECRET_KEY_BYTES && (int)HMAC_KEY_BYTES == (int)SECRET_KEY_BYTES,
               "keys are derived");
_Static_assert(WALLET_SERIAL_TEXT == BASE64URL_TEXT(AES_BLOCK_BYTES), "a serial number is a block");
_Static_assert(WALLET_AUTH_TEXT == BASE64URL_TEXT(HMAC_BYTES), "an authentication token is a hash");

enum err serial_keys_derive(const uint8_t master_key[32], struct serial_keys *keys)
{
	enum err err = secret_key(master_key, "stampede wallet serial numbers 1", keys->serial);
	return err ? err : secret_key(master_key, "stampede wallet authentication tokens 1", keys->auth);
}

void wallet_serial_text(const struct serial_keys *keys, const uint8_t token[WALLET_TOKEN_BYTES],
                        char text[WALLET_SERIAL_TEXT])
{
	uint8_t block[AES_BLOCK_BYTES];
	aes_block(keys->serial, true, token, block);
	base64url_text(span_of(block, sizeof block), text);
}

bool wallet_serial_read(const struct serial_keys *keys, struct span text, uint8_t token[WALLET_TOKEN_BYTES])
{
	uint8_t block[AES_BLOCK_BYTES];
	if (!base64url_read(text, block, sizeof block)) return false;
	aes_block(keys->serial, false, block, token);
	return true;
}

void wallet_auth_text(const struct serial_keys *keys, const uint8_t token[WALLET_TOKEN_BYTES],
                      char text[WALLET_AUTH_TEXT])
{
	struct span piece = span_of(token, WALLET_TOKEN_BYTES);
	uint8_t     mac[HMAC_BYTES];
	hmac_sha256(keys->auth, &piece, 1, mac);
	base64url_text(span_of(mac, sizeof mac), text);
	OPENSSL_cleanse(mac, sizeof mac);
}

bool wallet_auth_is(const struct serial_keys *keys, const uint8_t token[WALLET_TOKEN_BYTES], struct span text)
{
	char own[WALLET_AUTH_TEXT];
	wallet_auth_text(keys, token, own);
	bool same = text.size == WALLET_AUTH_TEXT - 1 &&
	            CRYPTO_memcmp(own, text.at, WALLET_AUTH_TEXT - 1) == 0;
	OPENSSL_cleanse(own, sizeof own);
	return same;
}
