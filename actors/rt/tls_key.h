#pragma once
#include <openssl/ssl.h>
#include <stdbool.h>

/* OpenSSL asks it for an encrypted key's passphrase, which it does not know: -1. */
static inline int tls_no_passphrase(char *text, int size, int writes, void *user)
{
	(void)text, (void)size, (void)writes, (void)user;
	return -1;
}

/* Takes the private key of a PEM file for the certificate that `tls` has already. An encrypted one is refused: who
 * starts a service must not be asked for a passphrase. false: OpenSSL's queue of errors tells why. */
static inline bool tls_key_take(SSL_CTX *tls, const char *path)
{
	SSL_CTX_set_default_passwd_cb(tls, tls_no_passphrase);
	return SSL_CTX_use_PrivateKey_file(tls, path, SSL_FILETYPE_PEM) == 1 &&
	       SSL_CTX_check_private_key(tls) == 1;
}
