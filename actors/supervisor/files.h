#pragma once
#include "actors/rt/settings.h"
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "schemas/sha256.h"

/* What the files of the options hold, once it has been found to be of use: the certificate and key belong together, the extra
 * authorities are some. */
struct files {
	struct buffer of[SETTINGS_FILE_COUNT]; /* size 0: not named */
	/* Of the certificate that clients are shown. */
	bool    has_certificate;
	wall_us not_before, not_after;
	uint8_t digest[SHA256_BYTES]; /* of its file */
};
void files_free(struct files *files); /* wipes them; zeroed is fine */

/* Which option's file is of no use, and why. */
struct files_refusal {
	const char *option, *path;
	char        reason[96];
};

/* Reads and judges the files, and changes nothing. files_free() is right after a failure too.
 * Errors: ERR_BAD_OPTION, with `refusal`; ERR_NO_MEMORY. */
must_check enum err files_read(const struct options *options, struct files *files,
                               struct files_refusal *refusal);
