/* SHA-256, by OpenSSL. Fetching an algorithm by name and making a context each take longer than a short hash. The
 * algorithm is fetched once a process; the context is made once a thread and freed when it ends. */
#include "schemas/sha256.h"

#include "schemas/err.h"

#include <openssl/evp.h>
#include <pthread.h>

static EVP_MD        *algorithm;
static pthread_key_t  at_end; /* of a thread: frees its context */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_context(void *context)
{
	EVP_MD_CTX_free(context);
}

static void begin(void)
{
	algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
	must(algorithm != NULL && pthread_key_create(&at_end, free_context) == 0);
}

static EVP_MD_CTX *new_context(void)
{
	pthread_once(&once, begin);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	must(context != NULL && pthread_setspecific(at_end, context) == 0);
	return context;
}

void sha256_of(const struct span pieces[], unsigned count, uint8_t hash[SHA256_BYTES])
{
	static _Thread_local EVP_MD_CTX *context;
	if (!context) context = new_context();
	must(EVP_DigestInit_ex2(context, algorithm, NULL) == 1);
	for (unsigned i = 0; i < count; i++)
		must(EVP_DigestUpdate(context, pieces[i].at, pieces[i].size) == 1);
	must(EVP_DigestFinal_ex(context, hash, NULL) == 1);
}
