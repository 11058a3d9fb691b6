#pragma once
#include "schemas/sha256.h"
#include "schemas/wallet/zip.h"

/* A package for Apple's wallet: a ZIP archive of pictures, pass.json, a manifest with the hash of each of these, and the
 * manifest's signature. The pictures, as finished files of the archive, are its *kit*. They come first, so a kit is the same bytes in
 * every package that shows them, and only the three other files are new each time:
 *
 *   kit's local part | pass.json, manifest.json, signature | kit's central part | their central heads | end
 *
 * Pure. Units: bytes. Errors: the buffer's.
 * Source: Apple's Wallet documentation: the hashes of a manifest are SHA-1. */
enum {
	PACKAGE_PICTURES_MAX = 8, /* of a kit */
	PACKAGE_OWN_FILES = 3,
	PACKAGE_SHA1_BYTES = 20,
};

struct package_picture {
	struct zip_file file;
	uint8_t         sha1[PACKAGE_SHA1_BYTES];
};

/* The pictures of a kit, in the order of the archive. */
struct package_pictures {
	unsigned               count;
	struct package_picture of[PACKAGE_PICTURES_MAX];
};

/* The picture that has these bytes. Any thread. Errors: none (without memory for the first hash the process ends). */
struct package_picture package_picture_of(const char *name, struct span bytes);

/* What a package needs to know of its kit. */
struct package_kit {
	uint8_t  hash[SHA256_BYTES];
	uint32_t count, local_size, central_size;
};

/* A kit is named by its owner (size 0: anybody), and by name, size and sums of its pictures. Of two owners no kit is taken
 * for the other's. */
void package_kit_of(const struct package_pictures *pictures, struct span owner, struct package_kit *kit);

/* Appends the kit: its local part, then its central part. `bytes`: of each picture. */
void package_kit_write(const struct package_pictures *pictures, const struct span *bytes, struct buffer *out);

/* The manifest over the pictures and pass.json. */
void package_manifest(const struct package_pictures *pictures, struct span pass_json, struct buffer *out);

/* The three files that are new in each package. */
struct package_own {
	struct span pass_json, manifest, signature;
};

/* Appends what comes between the two parts of the kit, and what comes behind them. */
void package_write(const struct package_kit *kit, const struct package_own *own, struct buffer *between,
                   struct buffer *behind);

/* The bytes of the whole archive. */
uint64_t package_size(const struct package_kit *kit, const struct package_own *own);
