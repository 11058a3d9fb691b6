#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

#include <openssl/ssl.h>

/* A server context for the PEM certificate chain and key: TLS 1.2 or newer, HTTP/1.1 only. The caller frees it with
 * SSL_CTX_free(). Errors: ERR_BAD_OPTION, ERR_NO_MEMORY. */
must_check enum err tls_open(struct span cert, struct span key, SSL_CTX **tls);
