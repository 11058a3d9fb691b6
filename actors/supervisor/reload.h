#pragma once
#include "actors/rt/options.h"
#include "actors/supervisor/children.h"
#include "actors/supervisor/files.h"
#include "schemas/clock.h"

/* Settings that can change while the service runs. A reload reads the command line, its --config file and the files that they
 * name again. */
struct reload {
	struct options at_start; /* as read at start; fixed where a change needs a restart */
	struct options now;      /* the same, with the newest value of reloadable ones */
	/* Text of the newest --config file, which `now` borrows from; NULL: the first file's, owned by the
	 * caller. */
	char *text;
	/* An older text, which the names of certificate and key borrow from: the newest one has none, and they stay in use until a
	 * restart. NULL: they are in another text. */
	char *tls_text;
	/* Of the certificate for new connections. */
	bool    has_certificate;
	wall_us not_before, not_after;
	uint8_t digest[SHA256_BYTES];
};

/* Names of options, without dashes, in the order of the table. */
enum { RELOAD_NAMES_MAX = 64 };
struct reload_names {
	unsigned    count;
	const char *of[RELOAD_NAMES_MAX];
};
struct reload_outcome {
	struct reload_names changed, needs_restart;
	bool                has_new_certificate;
	char                why[OPTION_WHY]; /* of a failure */
};

/* At start: reads and checks the files of `options`, into `files`. reload_begin() passes all of it to the children when they
 * are planned. `options` are as read, and borrowed for good. Errors (logged): ERR_BAD_OPTION, ERR_NO_MEMORY. */
must_check enum err reload_open(struct reload *reload, const struct options *options, struct files *files,
                                wall_us now);

/* reload_again() with its result logged: one `warn` line if it is refused. */
must_check enum err reload_run(struct reload *reload, struct children *children,
                               struct reload_outcome *outcome);

/* Reads everything again, checks all of it, and only then passes it to the children. A certificate that is expired or not
 * valid yet is refused, unless it is the one in use. On failure nothing changes, and outcome->why has the reason. Errors:
 * ERR_BAD_OPTION, ERR_NO_MEMORY, ERR_IO. */
must_check enum err reload_again(struct reload *reload, struct children *children, wall_us now,
                                 struct reload_outcome *outcome);
void                reload_close(struct reload *reload);
