/* schemas/keyed_hash.h: keys chosen to collide under a public function do not collide under this one. */
#include "schemas/crc32c.h"
#include "schemas/keyed_hash.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(keyed_hash, depends_on_every_byte_and_on_the_length)
{
	static const char text[] = "0123456789abcdefghij";
	uint64_t          whole = keyed_hash(span_of(text, sizeof text));
	cr_expect_eq(keyed_hash(span_of(text, sizeof text)), whole);
	for (size_t i = 0; i < sizeof text; i++) {
		char other[sizeof text];
		memcpy(other, text, sizeof text);
		other[i] ^= 1;
		cr_expect_neq(keyed_hash(span_of(other, sizeof other)), whole, "byte %zu", i);
		cr_expect_neq(keyed_hash(span_of(text, i)), whole, "length %zu", i);
	}
	cr_expect_neq(keyed_hash(span_of("\0\0", 1)), keyed_hash(span_of("\0\0", 2)));
}

Test(keyed_hash, spreads_keys_that_a_checksum_does_not)
{
	enum { PLACES = 4096 };
	static bool taken[PLACES];
	unsigned    keys = 0, places = 0;
	for (unsigned n = 0; n < 2000000; n++) {
		char        text[16];
		struct span key = span_of(text, (size_t)snprintf(text, sizeof text, "key %u", n));
		if (crc32c(0, key.at, key.size) % PLACES) continue;
		bool *test_dir = &taken[keyed_hash(key) % PLACES];
		places += !*test_dir;
		*test_dir = true;
		keys++;
	}
	cr_assert_gt(keys, 400);
	cr_expect_gt(places, keys * 8 / 10, "%u keys in %u places", keys, places);
}
