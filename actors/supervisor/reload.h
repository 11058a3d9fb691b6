#pragma once
#include "actors/supervisor/children.h"
#include "actors/supervisor/files.h"
#include "schemas/clock.h"

/* What can change while the service runs, and its change: the command line and its --config file are read again, and the files
 * that they name. */
struct reload {
	struct options at_start; /* as they were read; for good, where a change needs a restart */
	struct options now;      /* the same, and where they may change, the newest */
	char *
	    text; /* of the newest --config file, which `now` borrows from; NULL: the first one's, not ours */
	/* Of the certificate that new connections get. */
	bool    has_certificate;
	wall_us not_before, not_after;
	uint8_t digest[SHA256_BYTES];
};

/* Names of options, without dashes, as a table has them. */
enum { RELOAD_NAMES_MAX = 64 };
struct reload_names {
	unsigned    count;
	const char *of[RELOAD_NAMES_MAX];
};
struct reload_outcome {
	struct reload_names changed, needs_restart;
	bool                has_new_certificate;
	char                why[256]; /* of a failure */
};

/* At the start: reads and judges the files of `options`; reload_begin() hands all of it to the children when they are planned.
 * `options` are as they were read, and borrowed for good. Errors (logged): ERR_BAD_OPTION, ERR_NO_MEMORY. */
must_check enum err reload_open(struct reload *reload, const struct options *options, struct files *files,
                                wall_us now);

/* reload_again(), told in the log: one `warn` line when it is refused. */
must_check enum err reload_run(struct reload *reload, struct children *children,
                               struct reload_outcome *outcome);

/* Reads everything again, judges all of it, and only then lets the children go by it. A certificate that has expired, or whose
 * time has not begun, is refused, unless it is the one that is in use. On failure everything stays as it was, and
 * outcome->why says what is wrong. Errors: ERR_BAD_OPTION, ERR_NO_MEMORY, ERR_IO. */
must_check enum err reload_again(struct reload *reload, struct children *children, wall_us now,
                                 struct reload_outcome *outcome);
void                reload_close(struct reload *reload);
