/* Webhook signatures. As for hashes, OpenSSL's algorithm is fetched once a process and its context made once a
 * thread and freed when it ends: both take longer than signing a short body. */
#include "schemas/webhook.h"

#include <inttypes.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>
#include <stdio.h>

enum { MAC_BYTES = 32, BASE64_BYTES = 44, SECONDS_TEXT = 24 };
static const char secret_prefix[] = "whsec_";
static const char signature_prefix[] = "v1,";
enum { SECRET_PREFIX = sizeof secret_prefix - 1, SIGNATURE_PREFIX = sizeof signature_prefix - 1 };

static EVP_MAC       *algorithm;
static pthread_key_t  at_end; /* of a thread: frees its context */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_context(void *context)
{
	EVP_MAC_CTX_free(context);
}

static void begin(void)
{
	algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
	must(algorithm != NULL && pthread_key_create(&at_end, free_context) == 0);
}

static EVP_MAC_CTX *new_context(void)
{
	char         digest[] = "SHA256";
	OSSL_PARAM   params[] = {OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, sizeof digest - 1),
	                         OSSL_PARAM_END};
	EVP_MAC_CTX *context;

	pthread_once(&once, begin);
	context = EVP_MAC_CTX_new(algorithm);
	must(context != NULL && EVP_MAC_CTX_set_params(context, params) == 1);
	must(pthread_setspecific(at_end, context) == 0);
	return context;
}

static void put_base64(const uint8_t bytes[32], char *text)
{
	must(EVP_EncodeBlock((unsigned char *)text, bytes, 32) == BASE64_BYTES);
}

void webhook_secret_write(const uint8_t key[WEBHOOK_KEY_BYTES], char text[WEBHOOK_SECRET_TEXT])
{
	memcpy(text, secret_prefix, SECRET_PREFIX);
	put_base64(key, text + SECRET_PREFIX);
}

bool webhook_secret_read(struct span text, uint8_t key[WEBHOOK_KEY_BYTES])
{
	uint8_t decoded[BASE64_BYTES]; /* the decoder's count includes the padding */
	char    again[WEBHOOK_SECRET_TEXT];
	bool    same = false;

	if (text.size != WEBHOOK_SECRET_TEXT - 1) return false;
	if (EVP_DecodeBlock(decoded, text.at + SECRET_PREFIX, BASE64_BYTES) == WEBHOOK_KEY_BYTES + 1) {
		webhook_secret_write(decoded, again);
		same = memcmp(again, text.at, text.size) == 0;
	}
	if (same) memcpy(key, decoded, WEBHOOK_KEY_BYTES);
	OPENSSL_cleanse(decoded, sizeof decoded);
	OPENSSL_cleanse(again, sizeof again);
	return same;
}

int64_t webhook_seconds(wall_us sent_at)
{
	return sent_at.v / US_PER_SEC;
}

void webhook_sign(const struct webhook *webhook, const uint8_t key[WEBHOOK_KEY_BYTES],
                  char signature[WEBHOOK_SIGNATURE_TEXT])
{
	static _Thread_local EVP_MAC_CTX *context;
	char                              seconds[SECONDS_TEXT];
	uint8_t                           mac[MAC_BYTES];
	size_t                            size = 0;
	int digits = snprintf(seconds, sizeof seconds, ".%" PRId64 ".", webhook_seconds(webhook->sent_at));

	if (!context) context = new_context();
	must(EVP_MAC_init(context, key, WEBHOOK_KEY_BYTES, NULL) == 1);
	must(EVP_MAC_update(context, webhook->id.at, webhook->id.size) == 1);
	must(EVP_MAC_update(context, (const uint8_t *)seconds, (size_t)digits) == 1);
	must(EVP_MAC_update(context, webhook->body.at, webhook->body.size) == 1);
	must(EVP_MAC_final(context, mac, &size, sizeof mac) == 1 && size == MAC_BYTES);
	memcpy(signature, signature_prefix, SIGNATURE_PREFIX);
	put_base64(mac, signature + SIGNATURE_PREFIX);
}
