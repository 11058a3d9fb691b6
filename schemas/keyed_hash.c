/* A hash table is fast only if its keys are spread, and a client that chooses the keys can make them collide: with a
 * checksum as hash, a body of 2 MB kept a process busy for seconds. So the hash is keyed with the random bytes that
 * the kernel gives every process at its start, which costs no system call. */
#include "schemas/keyed_hash.h"

#include <string.h>
#include <sys/auxv.h>

uint64_t keyed_hash(struct span key)
{
	uint64_t secret[2];
	memcpy(secret, (const void *)getauxval(AT_RANDOM), sizeof secret);
	uint64_t hash = secret[0] ^ key.size;
	for (size_t i = 0; i < key.size; i += sizeof(uint64_t)) {
		uint64_t word = 0;
		size_t   left = key.size - i;
		memcpy(&word, key.at + i, left < sizeof word ? left : sizeof word);
		unsigned __int128 product = (unsigned __int128)(hash ^ word) * (secret[1] | 1);
		hash = (uint64_t)product ^ (uint64_t)(product >> 64);
	}
	return hash;
}
