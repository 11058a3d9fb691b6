#pragma once
#include <openssl/types.h>

/* The server context for a certificate chain and its key, from PEM files. Errors: NULL, and one line on stderr in the name of
 * `program`. */
SSL_CTX *certificate_open(const char *program, const char *certificate, const char *key);
