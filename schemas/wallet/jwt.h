#pragma once
#include "schemas/buffer.h"

#include <openssl/types.h>

/* JSON Web Tokens in the compact form: header.claims.signature, each as base64url. Pure. Source: RFC 7515, RFC 7518 and RFC 7519. */

/* Appends the token of a header and claims, both JSON text. The key decides how it is signed, and the header must say the same:
 * ES256 with a key on P-256, RS256 with an RSA key. Errors: ERR_NO_MEMORY; ERR_DAMAGED: it is another kind of key. */
must_check enum err jwt_sign(EVP_PKEY *key, struct span header, struct span claims, struct buffer *out);
