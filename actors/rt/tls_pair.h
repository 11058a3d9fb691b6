#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/span.h"

#include <openssl/ssl.h>

/* A certificate with its chain, and its private key, from PEM texts. An encrypted key is refused: a service must start without
 * asking for a passphrase. `why` (TLS_WHY bytes) has the reason of a failure. Errors: ERR_BAD_OPTION. */
enum { TLS_WHY = 96 };
must_check enum err tls_take_certificate(SSL_CTX *tls, struct span pem, char why[TLS_WHY]);
must_check enum err tls_take_key(SSL_CTX *tls, struct span pem,
                                 char why[TLS_WHY]); /* after its certificate */

/* Can a client that takes any certificate connect with certificate and key? A handshake in memory. Errors: ERR_BAD_OPTION, and
 * `why`: such as a key on a curve that TLS has no signature for. */
must_check enum err tls_rehearse(SSL_CTX *tls, char why[TLS_WHY]);

/* The period in which the certificate of `tls` is valid. */
struct tls_validity {
	wall_us not_before, not_after;
};
struct tls_validity tls_validity(const SSL_CTX *tls);

/* Adds the certificates of a PEM text to the trusted ones. Errors: ERR_BAD_OPTION, and `why`: such as when it has none. */
must_check enum err tls_take_authorities(X509_STORE *store, struct span pem, char why[TLS_WHY]);

/* Has this host any root certificates where OpenSSL looks for them? Errors: none. */
bool tls_has_roots(void);
