#pragma once
#include "schemas/buffer.h"
#include "schemas/clock.h"

/* The signature of a package's manifest: a detached CMS structure in DER, with SHA-256, the time of signing, and the
 * certificates of the signer and of WWDR, which issued it. Source: RFC 5652 and Apple's Wallet documentation. */

/* A certificate with its key and its issuer's certificate, parsed. One thread at a time may sign with it. */
struct wallet_signer;

/* All three in DER; the key PKCS #8. It must be that of the certificate. Errors: ERR_DAMAGED: they cannot be used. */
must_check enum err wallet_signer_open(struct span certificate, struct span key, struct span issuer,
                                       struct wallet_signer **signer);
void                wallet_signer_free(struct wallet_signer **signer); /* NULL: nothing */

/* Is this the signature of that manifest, by a certificate that `issuer` (DER) issued? Its end is not looked at. Errors: false, also
 * without memory. */
bool wallet_signature_holds(struct span manifest, struct span signature, struct span issuer);

/* Appends the signature. `at`: the real time, rounded down to a second. Errors: ERR_NO_MEMORY. */
must_check enum err wallet_sign(struct wallet_signer *signer, struct span manifest, wall_us at,
                                struct buffer *out);
