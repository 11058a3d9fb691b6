/* Reading certificates and private keys, by OpenSSL. */
#include "schemas/wallet/keys.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>

static BIO *bio_of(struct span file)
{
	return file.size && file.size <= INT32_MAX ? BIO_new_mem_buf(file.at, (int)file.size) : NULL;
}

/* Without it OpenSSL would ask on the terminal. */
static int no_passphrase(char *room, int size, int writing, void *asked)
{
	(void)room, (void)size, (void)writing;
	*(bool *)asked = true;
	return -1;
}

X509 *certificate_of(struct span file)
{
	BIO  *bio = bio_of(file);
	bool  encrypted = false;
	X509 *found = bio ? PEM_read_bio_X509(bio, NULL, no_passphrase, &encrypted) : NULL;
	if (!found && bio && BIO_reset(bio) == 1) found = d2i_X509_bio(bio, NULL);
	BIO_free(bio);
	ERR_clear_error();
	return found;
}

EVP_PKEY *private_key_of(struct span file, bool *encrypted)
{
	BIO *bio = bio_of(file);
	*encrypted = false;
	EVP_PKEY *found = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, encrypted) : NULL;
	if (!found && !*encrypted && bio && BIO_reset(bio) == 1) found = d2i_PrivateKey_bio(bio, NULL);
	BIO_free(bio);
	ERR_clear_error();
	return found;
}

bool key_is_rsa(const EVP_PKEY *key, int bits_min)
{
	return EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA && EVP_PKEY_get_bits(key) >= bits_min;
}

bool key_is_p256(const EVP_PKEY *key)
{
	char   name[32];
	size_t size;
	bool   has_name = EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
	                EVP_PKEY_get_group_name(key, name, sizeof name, &size) == 1;
	ERR_clear_error();
	return has_name && !strcmp(name, SN_X9_62_prime256v1);
}

enum err key_write(const EVP_PKEY *key, struct buffer *out)
{
	PKCS8_PRIV_KEY_INFO *pkcs8 = EVP_PKEY2PKCS8(key);
	int                  size = pkcs8 ? i2d_PKCS8_PRIV_KEY_INFO(pkcs8, NULL) : 0;
	enum err             err = pkcs8 ? ERR_TOO_LARGE : ERR_NO_MEMORY;
	if (size > 0 && size <= KEY_DER_BYTES_MAX) {
		uint8_t *at = buffer_reserve(out, (size_t)size);
		err = at ? OK : ERR_NO_MEMORY;
		if (at) out->size += (size_t)i2d_PKCS8_PRIV_KEY_INFO(pkcs8, &at);
	}
	PKCS8_PRIV_KEY_INFO_free(pkcs8);
	ERR_clear_error();
	return err;
}
