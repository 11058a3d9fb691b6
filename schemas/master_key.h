#pragma once
#include <stdint.h>

/* The master key of a data directory, DIR/master.key: 32 random bytes from which all other keys are derived. Its id
 * identifies it without revealing it: the first bytes of its SHA-256, as `sha256sum` prints them. */
enum { MASTER_KEY_BYTES = 32, MASTER_KEY_ID = 8 };

void master_key_id(const uint8_t key[MASTER_KEY_BYTES], uint8_t id[MASTER_KEY_ID]);
