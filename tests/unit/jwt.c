/* schemas/wallet/jwt.h: tokens are checked as a reader would. */
#include "schemas/wallet/jwt.h"

#include "schemas/base64url.h"

#include <criterion/criterion.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

static struct span part(struct buffer *token, unsigned which)
{
	struct span rest = buffer_span(token);
	for (unsigned i = 0;; i++) {
		const uint8_t *dot = memchr(rest.at, '.', rest.size);
		struct span    text = span_of(rest.at, dot ? (size_t)(dot - rest.at) : rest.size);
		if (i == which) return text;
		cr_assert(dot);
		rest = span_of(dot + 1, rest.size - text.size - 1);
	}
}

static bool is_good(EVP_PKEY *key, struct buffer *token, const uint8_t *signature, size_t size)
{
	size_t      signed_size = part(token, 0).size + 1 + part(token, 1).size;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool        good = EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
	            EVP_DigestVerify(context, signature, size, token->at, signed_size) == 1;
	EVP_MD_CTX_free(context);
	return good;
}

static struct buffer made(EVP_PKEY *key)
{
	struct buffer token = {.at = NULL};
	buffer_text(&token, "bearer ");
	cr_assert_eq(jwt_sign(key, span_str("{\"alg\":\"?\"}"), span_str("{\"iss\":\"T\"}"), &token), OK);
	memmove(token.at, token.at + 7, token.size -= 7);
	cr_expect(span_is(part(&token, 0), "eyJhbGciOiI_In0"));
	cr_expect(span_is(part(&token, 1), "eyJpc3MiOiJUIn0"));
	return token;
}

/* Numbers with leading zeros are 32 bytes, too: of some hundred signatures some have one. */
Test(jwt, a_key_on_p256_signs_with_two_numbers)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	for (unsigned i = 0; i < 600; i++) {
		struct buffer token = made(key);
		uint8_t       numbers[64];
		cr_assert(base64url_read(part(&token, 2), numbers, sizeof numbers));
		ECDSA_SIG     *signature = ECDSA_SIG_new();
		unsigned char *der = NULL;
		ECDSA_SIG_set0(signature, BN_bin2bn(numbers, 32, NULL), BN_bin2bn(numbers + 32, 32, NULL));
		int size = i2d_ECDSA_SIG(signature, &der);
		cr_assert(is_good(key, &token, der, (size_t)size));
		OPENSSL_free(der);
		ECDSA_SIG_free(signature);
		buffer_free(&token);
	}
	EVP_PKEY_free(key);
}

Test(jwt, an_rsa_key_signs)
{
	EVP_PKEY     *key = EVP_RSA_gen(2048);
	struct buffer token = made(key);
	uint8_t       signature[256];
	cr_assert(base64url_read(part(&token, 2), signature, sizeof signature));
	cr_expect(is_good(key, &token, signature, sizeof signature));
	signature[7] ^= 1;
	cr_expect(!is_good(key, &token, signature, sizeof signature));
	buffer_free(&token);
	EVP_PKEY_free(key);
}

Test(jwt, other_keys_are_refused_and_leave_nothing)
{
	EVP_PKEY     *keys[] = {EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), EVP_EC_gen("P-384")};
	struct buffer token = {.at = NULL};
	buffer_text(&token, "as before");
	for (unsigned i = 0; i < 2; i++) {
		cr_expect_eq(jwt_sign(keys[i], span_str("{}"), span_str("{}"), &token), ERR_DAMAGED);
		cr_expect(span_is(buffer_span(&token), "as before"));
		EVP_PKEY_free(keys[i]);
	}
	buffer_free(&token);
}
