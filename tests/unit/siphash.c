/* schemas/siphash.h against OpenSSL's, and against values of the reference implementation. */
#include "schemas/siphash.h"

#include "schemas/bytes.h"

#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>

enum { INPUT_MAX = 200, RESULT_BYTES = 16 };

static void begin(uint8_t key[16], uint8_t input[INPUT_MAX], struct siphash *words)
{
	for (unsigned i = 0; i < 16; i++)
		key[i] = (uint8_t)i;
	for (unsigned i = 0; i < INPUT_MAX; i++)
		input[i] = (uint8_t)i;
	*words = (struct siphash){get_le64(key), get_le64(key + 8)};
}

static void bytes_of(struct siphash hash, uint8_t bytes[RESULT_BYTES])
{
	put_le64(bytes, hash.low);
	put_le64(bytes + 8, hash.high);
}

Test(siphash, is_that_of_the_reference)
{
	static const uint8_t wanted[][RESULT_BYTES] = {
	    {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93},
	    {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45},
	    {0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6, 0x0a, 0xff, 0xe4},
	};
	uint8_t        key[16], input[INPUT_MAX], got[RESULT_BYTES];
	struct siphash words;
	begin(key, input, &words);
	for (size_t size = 0; size < sizeof wanted / sizeof *wanted; size++) {
		bytes_of(siphash(&words, span_of(input, size)), got);
		cr_expect(!memcmp(got, wanted[size], sizeof got), "of %zu bytes", size);
	}
}

Test(siphash, is_that_of_openssl)
{
	uint8_t        key[16], input[INPUT_MAX], got[RESULT_BYTES], wanted[RESULT_BYTES];
	struct siphash words;
	size_t         result_bytes = RESULT_BYTES, written;
	EVP_MAC       *mac = EVP_MAC_fetch(NULL, "SIPHASH", NULL);
	cr_assert(mac);
	begin(key, input, &words);
	const OSSL_PARAM set[] = {OSSL_PARAM_construct_size_t("size", &result_bytes),
	                          OSSL_PARAM_construct_end()};
	for (size_t size = 0; size <= INPUT_MAX; size++) {
		EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
		cr_assert(context && EVP_MAC_init(context, key, sizeof key, set));
		cr_assert(EVP_MAC_update(context, input, size));
		cr_assert(EVP_MAC_final(context, wanted, &written, sizeof wanted) && written == RESULT_BYTES);
		bytes_of(siphash(&words, span_of(input, size)), got);
		cr_expect(!memcmp(got, wanted, sizeof got), "of %zu bytes", size);
		EVP_MAC_CTX_free(context);
	}
	EVP_MAC_free(mac);
}
