/* Four words, mixed twice for each eight bytes of input and four times at each end of the result. */
#include "schemas/siphash.h"

#include "schemas/bytes.h"

struct state {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t turned(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void mix(struct state *s, unsigned rounds)
{
	while (rounds--) {
		s->v0 += s->v1;
		s->v2 += s->v3;
		s->v1 = turned(s->v1, 13) ^ s->v0;
		s->v3 = turned(s->v3, 16) ^ s->v2;
		s->v0 = turned(s->v0, 32);
		s->v2 += s->v1;
		s->v0 += s->v3;
		s->v1 = turned(s->v1, 17) ^ s->v2;
		s->v3 = turned(s->v3, 21) ^ s->v0;
		s->v2 = turned(s->v2, 32);
	}
}

static inline void take(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	mix(s, 2);
	s->v0 ^= word;
}

static inline uint64_t folded(const struct state *s)
{
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

struct siphash siphash(const struct siphash *key, struct span input)
{
	struct state   s = {.v0 = key->low ^ UINT64_C(0x736f6d6570736575),
	                    .v1 = key->high ^ UINT64_C(0x646f72616e646f6d) ^ 0xee, /* 128 bits are wanted */
	                    .v2 = key->low ^ UINT64_C(0x6c7967656e657261),
	                    .v3 = key->high ^ UINT64_C(0x7465646279746573)};
	struct siphash result;
	size_t         at = 0;
	for (; input.size - at >= 8; at += 8)
		take(&s, get_le64(input.at + at));
	uint64_t last = (uint64_t)input.size << 56;
	for (unsigned i = 0; at + i < input.size; i++)
		last |= (uint64_t)input.at[at + i] << 8 * i;
	take(&s, last);
	s.v2 ^= 0xee;
	mix(&s, 4);
	result.low = folded(&s);
	s.v1 ^= 0xdd;
	mix(&s, 4);
	result.high = folded(&s);
	return result;
}
