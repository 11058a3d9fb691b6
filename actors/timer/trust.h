#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/span.h"

#include <openssl/x509.h>
#include <stdbool.h>

/* The authorities whose certificates we believe: the system's, and those in `ca` (the text of a PEM file; size 0: none;
 * copied). The system's are read again when they have changed. Errors: ERR_BAD_OPTION (`ca` holds no certificate),
 * ERR_NO_MEMORY. */
struct trust;
must_check enum err trust_open(struct trust **trust, struct span ca);
/* Another `ca`, for connections that begin from now on. Errors: likewise, and nothing has changed. */
must_check enum err trust_change(struct trust *trust, struct span ca);
void                trust_close(struct trust **trust); /* NULL is fine */

/* Once a turn: looks, at most every TRUST_LOOK_MS, whether the system's have changed. What cannot be read leaves them as they
 * were. */
void trust_turn(struct trust *trust, mono_us now);
enum { TRUST_LOOK_MS = 1000 };

/* For new connections; who keeps it longer than the turn takes a reference. */
X509_STORE *trust_store(const struct trust *trust);
/* There is not one: no certificate of anybody's will hold. */
bool trust_is_empty(const struct trust *trust);
