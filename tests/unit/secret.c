/* Sealed secrets open only with the right key and context. */
#include "schemas/secret.h"

#include "tests/unit/support.h"

#include <criterion/criterion.h>

static const uint8_t master[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
static const uint8_t nonce[SECRET_NONCE_BYTES] = {9, 8, 7};

enum { PLAIN = 32, SEALED = PLAIN + SECRET_SEAL_BYTES };

static struct span context(void)
{
	return span_str("whose it is");
}

static void seal(const uint8_t plain[PLAIN], uint8_t sealed[SEALED])
{
	cr_assert_eq(secret_seal(master, nonce, context(), span_of(plain, PLAIN), sealed), OK);
}

/* As computed by python's hmac by RFC 5869, without salt. */
Test(secret, a_key_is_the_hkdf_of_its_purpose)
{
	static const uint8_t want[32] = {0x14, 0x24, 0xd0, 0xf7, 0x42, 0xe3, 0xa9, 0x9e, 0xe7, 0x76, 0xda,
	                                 0x30, 0xcc, 0x08, 0xa7, 0xb5, 0xfe, 0xfd, 0x4b, 0x43, 0x45, 0x22,
	                                 0xdd, 0x9e, 0x77, 0x1c, 0x54, 0x8f, 0x9c, 0x52, 0x9f, 0x16};
	uint8_t              key[32], other[32], of_other[32], other_master[32] = {1};
	cr_assert_eq(secret_key(master, "a purpose", key), OK);
	cr_expect_arr_eq(key, want, sizeof want);
	cr_assert_eq(secret_key(master, "a purposf", other), OK);
	cr_assert_eq(secret_key(other_master, "a purpose", of_other), OK);
	cr_expect(memcmp(key, other, 32) && memcmp(key, of_other, 32) && memcmp(key, master, 32));
}

Test(secret, opens_with_the_key_and_context_it_was_sealed_with)
{
	uint64_t state = chance_begin();
	for (unsigned size = 0; size < 100; size++) {
		uint8_t     sealed[100 + SECRET_SEAL_BYTES], plain[100];
		struct span secret = filler(chance(&state), size);
		cr_assert_eq(secret_seal(master, nonce, context(), secret, sealed), OK);
		cr_expect_arr_eq(sealed, nonce, sizeof nonce);
		struct span whole = span_of(sealed, size + SECRET_SEAL_BYTES);
		cr_assert_eq(secret_open(master, context(), whole, plain), OK);
		cr_expect(span_equal(span_of(plain, size), secret));
	}
}

Test(secret, has_no_bytes_in_common_with_its_seal)
{
	uint8_t  plain[PLAIN] = {0}, one[SEALED], other[SEALED], other_nonce[SECRET_NONCE_BYTES] = {1};
	unsigned same = 0;
	seal(plain, one);
	cr_assert_eq(secret_seal(master, other_nonce, context(), span_of(plain, PLAIN), other), OK);
	for (unsigned i = SECRET_NONCE_BYTES; i < SEALED; i++)
		same += one[i] == other[i] || one[i] == 0 || other[i] == 0;
	cr_expect_lt(same, 8);
}

static void expect_closed(const uint8_t key[32], struct span whose, struct span sealed, const char *what)
{
	uint8_t plain[PLAIN], nothing[PLAIN] = {0};
	memset(plain, 0, sizeof plain);
	cr_expect_eq(secret_open(key, whose, sealed, plain), ERR_DAMAGED, "%s", what);
	cr_expect_arr_eq(plain, nothing, sizeof plain, "%s: something of it is left", what);
}

Test(secret, does_not_open_with_another_key_or_context)
{
	uint8_t sealed[SEALED], key[32];
	seal(filler(1, PLAIN).at, sealed);
	struct span whole = span_of(sealed, SEALED);
	for (unsigned bit = 0; bit < 256; bit++) {
		memcpy(key, master, sizeof key);
		key[bit / 8] ^= (uint8_t)(1 << bit % 8);
		expect_closed(key, context(), whole, "key");
	}
	expect_closed(master, span_str("whose it if"), whole, "context");
	expect_closed(master, span_str("whose it i"), whole, "shorter context");
	expect_closed(master, span_str(""), whole, "no context");
}

Test(secret, does_not_open_with_a_bit_flipped_or_a_byte_cut)
{
	uint8_t sealed[SEALED + 1] = {0};
	seal(filler(1, PLAIN).at, sealed);
	for (unsigned bit = 0; bit < 8 * SEALED; bit++) {
		sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
		expect_closed(master, context(), span_of(sealed, SEALED), "bit");
		sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (unsigned size = 0; size < SEALED; size++) {
		expect_closed(master, context(), span_of(sealed, size), "cut at the end");
		expect_closed(master, context(), span_of(sealed + SEALED - size, size), "cut at the front");
	}
	uint8_t plain[PLAIN + 1];
	cr_expect_eq(secret_open(master, context(), span_of(sealed, SEALED + 1), plain), ERR_DAMAGED);
}

/* As another program seals the same secret. */
Test(secret, is_aes_256_gcm)
{
	static const uint8_t want[] = {0x3f, 0x73, 0xad, 0x03, 0x1a, 0xc9, 0x26, 0xf2, 0x5f,
	                               0x0b, 0x31, 0x55, 0x7f, 0xf8, 0xc5, 0x5a, 0xe3, 0xab,
	                               0xd7, 0x2d, 0x48, 0xc9, 0xed, 0x63, 0xdb, 0x02, 0xd4};
	uint8_t              sealed[11 + SECRET_SEAL_BYTES], hundreds[SECRET_NONCE_BYTES];
	for (unsigned i = 0; i < SECRET_NONCE_BYTES; i++)
		hundreds[i] = (uint8_t)(100 + i);
	cr_assert_eq(secret_seal(master, hundreds, span_str("context"), span_str("whsec plain"), sealed), OK);
	cr_expect_arr_eq(sealed + SECRET_NONCE_BYTES, want, sizeof want);
}
