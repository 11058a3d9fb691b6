#pragma once
#include "schemas/err.h"

#include <openssl/x509.h>

/* The authorities whose certificates we believe: the system's, and those in `ca_file` (PEM; NULL: none), read once. The
 * store is the caller's to free. Errors: ERR_BAD_OPTION (`ca_file` holds no certificate), ERR_NO_MEMORY. */
must_check enum err trust_open(X509_STORE **store, const char *ca_file);
