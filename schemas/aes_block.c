/* AES-256 of single blocks, by OpenSSL. One cipher context a thread, because making one costs more than using it; it is freed
 * when the thread ends. */
#include "schemas/aes_block.h"

#include "schemas/err.h"

#include <openssl/evp.h>
#include <pthread.h>

static pthread_key_t  at_end; /* frees a thread's context at its end */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_context(void *context)
{
	EVP_CIPHER_CTX_free(context);
}

static void begin(void)
{
	must(!pthread_key_create(&at_end, free_context));
}

static EVP_CIPHER_CTX *new_context(void)
{
	pthread_once(&once, begin);
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	must(context && !pthread_setspecific(at_end, context));
	must(EVP_CipherInit_ex(context, EVP_aes_256_ecb(), NULL, NULL, NULL, 1));
	return context;
}

void aes_block(const uint8_t key[AES_KEY_BYTES], bool encrypt, const uint8_t from[AES_BLOCK_BYTES],
               uint8_t to[AES_BLOCK_BYTES])
{
	static _Thread_local EVP_CIPHER_CTX *context;
	int                                  size = 0;
	if (!context) context = new_context();
	must(EVP_CipherInit_ex(context, NULL, NULL, key, NULL, encrypt));
	EVP_CIPHER_CTX_set_padding(context, 0);
	must(EVP_CipherUpdate(context, to, &size, from, AES_BLOCK_BYTES) && size == AES_BLOCK_BYTES);
}
