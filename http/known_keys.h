#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Keys with which a request has succeeded lately, by the hash of their secret part. Nobody can make a key that meets another's
 * place. Two keys of one place take turns, so some that are valid may be unknown. Any thread. */
enum { KNOWN_KEYS = 1 << 15 };
struct known_keys {
	_Atomic uint64_t at[KNOWN_KEYS];
};

void known_keys_add(struct known_keys *keys, const uint8_t key_hash[32]);
bool known_keys_have(const struct known_keys *keys, const uint8_t key_hash[32]);
