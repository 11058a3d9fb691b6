/* One place for each key: its number is in the hash, and the place has another part of the hash. */
#include "http/known_keys.h"

#include "schemas/bytes.h"

static uint32_t place_of(const uint8_t key_hash[32])
{
	return get_le32(key_hash + 8) % KNOWN_KEYS;
}

void known_keys_add(struct known_keys *keys, const uint8_t key_hash[32])
{
	_Atomic uint64_t *at = &keys->at[place_of(key_hash)];
	uint64_t          key = get_le64(key_hash);
	/* Nearly always it is there, and other threads read the line. */
	if (atomic_load_explicit(at, memory_order_relaxed) != key)
		atomic_store_explicit(at, key, memory_order_relaxed);
}

bool known_keys_have(const struct known_keys *keys, const uint8_t key_hash[32])
{
	uint64_t key = atomic_load_explicit(&keys->at[place_of(key_hash)], memory_order_relaxed);
	return key == get_le64(key_hash);
}
