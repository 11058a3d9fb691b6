/* Signs JSON Web Tokens with OpenSSL. Its ECDSA signatures are DER; a token has the two numbers, 32 bytes each. */
#include "schemas/wallet/jwt.h"

#include "schemas/base64url.h"

#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>

enum { SIGNATURE_BYTES_MAX = 1024, NUMBER_BYTES = 32 };

static void append_base64url(struct span bytes, struct buffer *out)
{
	char *text = (char *)buffer_reserve(out, BASE64URL_TEXT(bytes.size));
	if (!text) return;
	base64url_text(bytes, text);
	out->size += strlen(text);
}

/* Errors: 0: the key cannot sign. */
static size_t sign(EVP_PKEY *key, struct span text, uint8_t signature[SIGNATURE_BYTES_MAX])
{
	size_t      size = SIGNATURE_BYTES_MAX;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool        good = context && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
	            EVP_DigestSign(context, signature, &size, text.at, text.size) == 1;
	EVP_MD_CTX_free(context);
	return good ? size : 0;
}

/* Errors: 0: the signature is not of P-256. */
static size_t numbers_of(uint8_t signature[SIGNATURE_BYTES_MAX], size_t size)
{
	const unsigned char *at = signature;
	ECDSA_SIG           *numbers = d2i_ECDSA_SIG(NULL, &at, (long)size);
	bool                 good = numbers &&
	            BN_bn2binpad(ECDSA_SIG_get0_r(numbers), signature, NUMBER_BYTES) == NUMBER_BYTES &&
	            BN_bn2binpad(ECDSA_SIG_get0_s(numbers), signature + NUMBER_BYTES, NUMBER_BYTES) ==
	                NUMBER_BYTES;
	ECDSA_SIG_free(numbers);
	return good ? 2 * (size_t)NUMBER_BYTES : 0;
}

enum err jwt_sign(EVP_PKEY *key, struct span header, struct span claims, struct buffer *out)
{
	uint8_t signature[SIGNATURE_BYTES_MAX];
	size_t  begin = out->size, size = 0;
	append_base64url(header, out);
	buffer_byte(out, '.');
	append_base64url(claims, out);
	if (out->failed) return ERR_NO_MEMORY;
	int kind = EVP_PKEY_get_base_id(key);
	if (kind == EVP_PKEY_RSA || kind == EVP_PKEY_EC)
		size = sign(key, span_of(out->at + begin, out->size - begin), signature);
	if (kind == EVP_PKEY_EC && size) size = numbers_of(signature, size);
	ERR_clear_error();
	if (!size) {
		out->size = begin;
		return ERR_DAMAGED;
	}
	buffer_byte(out, '.');
	append_base64url(span_of(signature, size), out);
	return out->failed ? ERR_NO_MEMORY : OK;
}
