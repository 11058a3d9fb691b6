#pragma once
#include "schemas/clock.h"
#include "schemas/histogram.h"
#include "schemas/secret.h"
#include "schemas/sha256.h"
#include "schemas/wallet/signature.h"
#include "store/wallet_credential.h"

/* What the signer's thread keeps: the certificates that it signs with, parsed, and the manifests that it signed within the last
 * minute, by what they are of. Used by that thread alone. */
struct signer;

/* Errors: ERR_NO_MEMORY. */
must_check enum err signer_open(struct signer **signer);
void                signer_close(struct signer **signer); /* NULL: nothing */

/* A manifest with its signature, borrowed until the next call. */
struct signed_manifest {
	struct span manifest, signature;
};

/* What was signed under this name in the last PACKAGES_KEPT_S seconds. False: nothing. */
bool signer_find(struct signer *signer, const uint8_t name[SHA256_BYTES], mono_us now,
                 struct signed_manifest *found);
/* Keeps it, if there is memory. The least used go beyond PACKAGES_KEPT_BYTES_MAX. */
void signer_keep(struct signer *signer, const uint8_t name[SHA256_BYTES], mono_us now,
                 const struct signed_manifest *made);

/* The sums of the pictures that have these facts (a hash of them), and the kit that they make. False: not known. */
struct package_pictures;
struct package_kit;
bool signer_find_kit(const struct signer *signer, const uint8_t facts[SHA256_BYTES],
                     struct package_pictures *pictures, struct package_kit *kit);
void signer_keep_kit(struct signer *signer, const uint8_t facts[SHA256_BYTES],
                     const struct package_pictures *pictures, const struct package_kit *kit);

/* Appends the signature of a manifest at a moment of real time, by the credential's certificate and key, which `wallet_key`
 * unseals. Errors: ERR_SEALED, ERR_DAMAGED, ERR_NO_MEMORY. */
struct signing {
	const struct wallet_credential *credential;
	const uint8_t                  *wallet_key;
	wall_us                         at;
};
must_check enum err signer_sign(struct signer *signer, const struct signing *signing, struct span manifest,
                                struct buffer *out);

/* How long signatures took (scale_us). Any thread may read. */
const struct histogram *signer_times(const struct signer *signer);
