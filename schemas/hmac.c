/* HMAC-SHA256, by OpenSSL. The algorithm is fetched once a process and its context made once a thread and freed when it ends:
 * both take longer than signing a short text. */
#include "schemas/hmac.h"

#include "schemas/err.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>

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

void hmac_sha256(const uint8_t key[HMAC_KEY_BYTES], const struct span pieces[], unsigned count,
                 uint8_t mac[HMAC_BYTES])
{
	static _Thread_local EVP_MAC_CTX *context;
	size_t                            size = 0;
	if (!context) context = new_context();
	must(EVP_MAC_init(context, key, HMAC_KEY_BYTES, NULL) == 1);
	for (unsigned i = 0; i < count; i++)
		must(EVP_MAC_update(context, pieces[i].at, pieces[i].size) == 1);
	must(EVP_MAC_final(context, mac, &size, HMAC_BYTES) == 1 && size == HMAC_BYTES);
}
