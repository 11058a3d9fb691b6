#pragma once
#include "schemas/span.h"

/* HMAC-SHA256 of `count` concatenated pieces. Any thread. Errors: none (without memory for a thread's first one the process
 * ends). */
enum { HMAC_BYTES = 32, HMAC_KEY_BYTES = 32 };
void hmac_sha256(const uint8_t key[HMAC_KEY_BYTES], const struct span pieces[], unsigned count,
                 uint8_t mac[HMAC_BYTES]);
