#pragma once
#include "schemas/span.h"

/* SHA-256 of `count` pieces as if they stood in one row. Any thread. Errors: none (without memory for a thread's first
 * one the process ends). */
enum { SHA256_BYTES = 32 };
void sha256_of(const struct span pieces[], unsigned count, uint8_t hash[SHA256_BYTES]);
