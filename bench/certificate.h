#pragma once
#include <openssl/types.h>

/* What a server of this folder shows: the certificate chain and its key, of PEM files.
 * Errors: NULL, and one line on stderr in the name of `program`. */
SSL_CTX *certificate_open(const char *program, const char *certificate, const char *key);
