/* Sealing and opening, by OpenSSL. The cipher is fetched once a process, since that takes longer than a short
 * secret. Each call makes its own context, so that no thread keeps a key. */
#include "schemas/secret.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <pthread.h>

static EVP_CIPHER    *cipher;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void)
{
	cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
}

enum err secret_key(const uint8_t master_key[32], const char *purpose, uint8_t key[SECRET_KEY_BYTES])
{
	EVP_KDF     *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *context = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	OSSL_PARAM   params[] = {
	      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
	      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)master_key, 32),
	      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)purpose, strlen(purpose)),
	      OSSL_PARAM_construct_end(),
        };
	bool good = context && EVP_KDF_derive(context, key, SECRET_KEY_BYTES, params) == 1;
	EVP_KDF_CTX_free(context);
	EVP_KDF_free(kdf);
	return good ? OK : ERR_NO_MEMORY;
}

static EVP_CIPHER_CTX *new_context(void)
{
	pthread_once(&once, begin);
	return cipher ? EVP_CIPHER_CTX_new() : NULL;
}

enum err secret_seal(const uint8_t key[SECRET_KEY_BYTES], const uint8_t nonce[SECRET_NONCE_BYTES],
                     struct span context, struct span plain, uint8_t *sealed)
{
	EVP_CIPHER_CTX *gcm = new_context();
	uint8_t        *body = sealed + SECRET_NONCE_BYTES, *tag = body + plain.size;
	int             size = 0;
	memcpy(sealed, nonce, SECRET_NONCE_BYTES);
	bool good = gcm && EVP_EncryptInit_ex2(gcm, cipher, key, nonce, NULL) == 1 &&
	            EVP_EncryptUpdate(gcm, NULL, &size, context.at, (int)context.size) == 1 &&
	            EVP_EncryptUpdate(gcm, body, &size, plain.at, (int)plain.size) == 1 &&
	            EVP_EncryptFinal_ex(gcm, tag, &size) == 1 &&
	            EVP_CIPHER_CTX_ctrl(gcm, EVP_CTRL_AEAD_GET_TAG, SECRET_TAG_BYTES, tag) == 1;
	EVP_CIPHER_CTX_free(gcm);
	return good ? OK : ERR_NO_MEMORY;
}

enum err secret_open(const uint8_t key[SECRET_KEY_BYTES], struct span context, struct span sealed,
                     uint8_t *plain)
{
	if (sealed.size < SECRET_SEAL_BYTES) return ERR_DAMAGED;
	EVP_CIPHER_CTX *gcm = new_context();
	size_t          plain_size = sealed.size - SECRET_SEAL_BYTES;
	const uint8_t  *body = sealed.at + SECRET_NONCE_BYTES;
	uint8_t         tag[SECRET_TAG_BYTES], rest[SECRET_TAG_BYTES];
	int             size = 0;
	memcpy(tag, body + plain_size, sizeof tag);
	enum err err = gcm && EVP_DecryptInit_ex2(gcm, cipher, key, sealed.at, NULL) == 1 ? OK
	                                                                                  : ERR_NO_MEMORY;
	bool     good = !err && EVP_DecryptUpdate(gcm, NULL, &size, context.at, (int)context.size) == 1 &&
	            EVP_DecryptUpdate(gcm, plain, &size, body, (int)plain_size) == 1 &&
	            EVP_CIPHER_CTX_ctrl(gcm, EVP_CTRL_AEAD_SET_TAG, SECRET_TAG_BYTES, tag) == 1 &&
	            EVP_DecryptFinal_ex(gcm, rest, &size) == 1;
	if (!good) OPENSSL_cleanse(plain, plain_size);
	EVP_CIPHER_CTX_free(gcm);
	if (err) return err;
	return good ? OK : ERR_DAMAGED;
}
