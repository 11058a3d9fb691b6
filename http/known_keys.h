#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Keys with which a request has succeeded lately, by the hash of their secret part. A key that was never valid is not known,
 * since only a key's owner can make its hash. Two keys with the same place replace each other, so a valid key may be unknown.
 * Any thread. */
enum { KNOWN_KEYS = 1 << 15 };
struct known_keys {
	_Atomic uint64_t at[KNOWN_KEYS];
};

void known_keys_add(struct known_keys *keys, const uint8_t key_hash[32]);
bool known_keys_have(const struct known_keys *keys, const uint8_t key_hash[32]);
