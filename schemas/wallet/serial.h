#pragma once
#include "schemas/aes_block.h"
#include "schemas/err.h"
#include "schemas/hmac.h"
#include "schemas/span.h"

#include <stdbool.h>

/* The two names that a pass has in a wallet, both made of the token of its link, so that neither is stored. The serial number is
 * the token as one encrypted block: it is unique, a process with the key reads the token back, and a serial in a log opens no
 * page. The authentication token is a hash of the link's token: only the phone that was given the pass has it. Neither ever
 * changes. Their keys are derived from the master key for these purposes alone. Any thread. */
enum {
	WALLET_TOKEN_BYTES = AES_BLOCK_BYTES, /* of a link's token */
	WALLET_SERIAL_TEXT = 22 + 1,          /* base64url */
	WALLET_AUTH_TEXT = 43 + 1,            /* likewise */
};

struct serial_keys {
	uint8_t serial[AES_KEY_BYTES], auth[HMAC_KEY_BYTES];
};

/* Errors: ERR_NO_MEMORY. */
must_check enum err serial_keys_derive(const uint8_t master_key[32], struct serial_keys *keys);

void wallet_serial_text(const struct serial_keys *keys, const uint8_t token[WALLET_TOKEN_BYTES],
                        char text[WALLET_SERIAL_TEXT]);
/* Any block has some token: whether that is a pass's is for token_read() to say. Errors: false: it is no serial number. */
bool wallet_serial_read(const struct serial_keys *keys, struct span text, uint8_t token[WALLET_TOKEN_BYTES]);

void wallet_auth_text(const struct serial_keys *keys, const uint8_t token[WALLET_TOKEN_BYTES],
                      char text[WALLET_AUTH_TEXT]);
/* Is this the authentication token of the link's token? Takes the same time for every text of its length. */
bool wallet_auth_is(const struct serial_keys *keys, const uint8_t token[WALLET_TOKEN_BYTES],
                    struct span text);
