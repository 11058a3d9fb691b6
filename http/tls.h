#pragma once
#include "schemas/err.h"

#include <openssl/ssl.h>

/* A server context for the certificate chain and key in these PEM files: TLS 1.2 or newer, HTTP/1.1 only.
 * `why` (128 bytes) says what is wrong. The caller frees it with SSL_CTX_free(). Errors: ERR_BAD_OPTION,
 * ERR_NO_MEMORY. */
must_check enum err tls_open(const char *cert, const char *key, SSL_CTX **tls, char why[128]);
