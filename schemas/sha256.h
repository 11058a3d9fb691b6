#pragma once
#include "schemas/span.h"

/* SHA-256 of `count` concatenated pieces. Any thread. Errors: none (without memory for a thread's first hash the
 * process ends). */
enum { SHA256_BYTES = 32 };
void sha256_of(const struct span pieces[], unsigned count, uint8_t hash[SHA256_BYTES]);
