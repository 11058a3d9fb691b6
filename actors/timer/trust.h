#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

#include <openssl/x509.h>

/* The authorities whose certificates we believe: the system's, and those in `ca` (the text of a PEM file; size 0: none). The
 * store is the caller's to free. Errors: ERR_BAD_OPTION (`ca` holds no certificate), ERR_NO_MEMORY. */
must_check enum err trust_open(X509_STORE **store, struct span ca);
