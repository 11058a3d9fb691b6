/* TLS of the servers of this folder: 1.2 or later, like Stampede. */
#include "bench/certificate.h"

#include <openssl/ssl.h>
#include <stdio.h>

SSL_CTX *certificate_open(const char *program, const char *certificate, const char *key)
{
	SSL_CTX *tls = SSL_CTX_new(TLS_server_method());

	if (tls && SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) == 1 &&
	    SSL_CTX_use_certificate_chain_file(tls, certificate) == 1 &&
	    SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) == 1)
		return tls;
	fprintf(stderr, "%s: %s and %s are no certificate and its key\n", program, certificate, key);
	SSL_CTX_free(tls);
	return NULL;
}
