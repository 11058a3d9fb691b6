#pragma once
#include <stdbool.h>
#include <stdint.h>

/* One block of AES-256: ids that mean something only with the key. Any thread. Errors: none (without memory for a thread's
 * first block the process ends). */
enum { AES_BLOCK_BYTES = 16, AES_KEY_BYTES = 32 };
void aes_block(const uint8_t key[AES_KEY_BYTES], bool encrypt, const uint8_t from[AES_BLOCK_BYTES],
               uint8_t to[AES_BLOCK_BYTES]);
