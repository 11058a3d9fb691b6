#pragma once
#include "schemas/arena.h"
#include "schemas/cause.h"
#include "schemas/clock.h"
#include "schemas/wallet/sealing.h"

/* What an operator puts as a credential for wallets: the bytes of files, judged as a whole and taken apart. A refusal names
 * the file by its option (cert, key, wwdr, p8, p8_id, service_account, issuer). Any thread. */

/* Apple: a pass type's certificate, its key, and the WWDR certificate that issued it; certificates in PEM or DER, keys
 * likewise and without a passphrase. p8 and p8_id are both given or both empty. */
struct apple_files {
	struct span certificate, key, wwdr, p8, p8_id;
};

/* Google: the JSON file of a service account, and the issuer's id. */
struct google_files {
	struct span service_account, issuer_id;
};

/* What is no reason to refuse, but may be why a phone does. Stored: numbers are only added. */
enum wallet_warning { WALLET_WARNS_EXTENSION = 1, WALLET_WARNS_ISSUER = 2 };
enum { WALLET_WARNINGS = 2 };
const char *wallet_warning_text(enum wallet_warning warning); /* a sentence for the operator */

/* What was read. Texts and certificates are in the arena, keys in `secret`. */
struct wallet_credential_read {
	struct span        name;  /* pass type id; issuer id */
	struct span        owner; /* team id; client_email */
	struct span        key_id;
	struct span        certificate, issuer;                     /* DER; Google: empty */
	struct span        token_uri;                               /* Google */
	wall_us            not_before, not_after, issuer_not_after; /* Google: 0 */
	unsigned           warnings;                                /* enum wallet_warning, or'ed */
	struct wallet_keys keys;
	struct buffer      secret;
};

enum { WALLET_NAME_BYTES_MAX = 255, APPLE_TEAM_BYTES = 10, RSA_BITS_MIN = 2048 };

/* `now` is service time. wallet_read_forget() ends what was read, after an error too. Errors: that of reason->cause, whose
 * texts live in the arena; ERR_NO_MEMORY.
 * Order of the reasons: what cannot be read; key; pass type; team; issuer; times of either; strength. */
must_check enum err apple_credential_read(const struct apple_files *files, wall_us now, struct arena *arena,
                                          struct wallet_credential_read *read, struct reason *reason);
must_check enum err google_credential_read(const struct google_files *files, struct arena *arena,
                                           struct wallet_credential_read *read, struct reason *reason);
void                wallet_read_forget(struct wallet_credential_read *read);
