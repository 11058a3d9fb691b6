#pragma once
#include "actors/rt/settings.h"
#include "schemas/buffer.h"
#include "schemas/clock.h"
#include "schemas/sha256.h"

/* The checked content of the files in the options: certificate and key belong together, the extra authorities are
 * certificates. */
struct files {
	struct buffer of[SETTINGS_FILE_COUNT]; /* size 0: not named */
	/* Of the server's certificate. */
	bool    has_certificate;
	wall_us not_before, not_after;
	uint8_t digest[SHA256_BYTES]; /* of its file */
};
void files_free(struct files *files); /* wipes them; zeroed is fine */

/* Which option's file is unusable, and why. */
struct files_refusal {
	const char *option, *path;
	char        reason[96];
};

/* Reads and checks the files. Call files_free() after a failure, too. Errors: ERR_BAD_OPTION, with `refusal`; ERR_NO_MEMORY. */
must_check enum err files_read(const struct options *options, struct files *files,
                               struct files_refusal *refusal);
