#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/span.h"

#include <openssl/x509.h>
#include <stdbool.h>

/* The trusted authorities: the system's, and those in `ca` (PEM text, copied; size 0: none). The system's are read again after
 * a change. Errors: ERR_BAD_OPTION (`ca` has no certificate), ERR_NO_MEMORY. */
struct trust;
must_check enum err trust_open(struct trust **trust, struct span ca);
/* Replaces `ca` for new connections. Errors: likewise, and nothing changed. */
must_check enum err trust_change(struct trust *trust, struct span ca);
void                trust_close(struct trust **trust); /* NULL is fine */

/* Once a turn: checks, at most every TRUST_LOOK_MS, whether the system's authorities changed. If they cannot be read, they
 * stay. */
void trust_turn(struct trust *trust, mono_us now);
enum { TRUST_LOOK_MS = 1000 };

/* For new connections; the first call reads the system's authorities, some 10 ms. Take a reference to keep it beyond the turn. */
X509_STORE *trust_store(struct trust *trust);
/* No authority is trusted: no certificate is valid. */
bool trust_is_empty(const struct trust *trust);
