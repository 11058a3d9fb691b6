#pragma once
#include "schemas/buffer.h"
#include "schemas/cause.h"
#include "schemas/err.h"

#include <openssl/evp.h>
#include <openssl/x509.h>

/* Certificates and private keys in the forms that files have. Each leaves OpenSSL's queue of errors empty. */

/* The first certificate of a file, PEM or DER; NULL: there is none. X509_free() ends it. */
X509 *certificate_of(struct span file);

/* The first private key of a file, PEM or DER, without a passphrase. NULL: there is none, or *encrypted.
 * EVP_PKEY_free() ends it. */
EVP_PKEY *private_key_of(struct span file, bool *encrypted);

bool key_is_rsa(const EVP_PKEY *key, int bits_min);
bool key_is_p256(const EVP_PKEY *key);

/* Appends the key as PKCS#8 in DER. The buffer must have the room, so that no copy is left behind when it grows:
 * KEY_DER_BYTES_MAX each. Errors: ERR_TOO_LARGE, ERR_NO_MEMORY. */
enum { KEY_DER_BYTES_MAX = 16 << 10 };
must_check enum err key_write(const EVP_PKEY *key, struct buffer *out);

/* Opens a PKCS#12 file: certificate and key in DER, appended to `certificate` and `key`. Old files, with the ciphers that
 * OpenSSL 3 keeps apart as "legacy", are opened where that provider is installed. A slow one costs seconds, so not for a
 * process that serves. Errors: that of reason->cause; ERR_NO_MEMORY. */
must_check enum err p12_open(struct span file, const char *password, struct buffer *certificate,
                             struct buffer *key, struct reason *reason);
