#pragma once
#include "ops/cli/cli.h"
#include "ops/cli/progress.h"

/* Work on the files of a shard that is not served, done by this program in a process of its own: what kills that, as
 * damaged tables may, does not kill the command. */
struct offline {
	const char *role; /* check, restore, dump */
	uint32_t    index;
	const char *data;
	const char *from, *lineage, *table; /* NULL: not given */
	bool        prints; /* to our standard output; its outcome, if any, comes by its standard error */
};

/* Runs it to its end. *outcome becomes the JSON object it ended with; `done` says that it is its result, and not
 * {"code","message"}. Errors: ERR_IO (it could not be run), ERR_PEER_GONE (it was killed by *signal, 0: it ended without a
 * word), ERR_NO_MEMORY. */
must_check enum err offline_run(const struct offline *work, struct bar *bar, struct buffer *outcome,
                                bool *done, int *signal);

/* FAILED, with the {"code","message"} that it ended with. */
enum outcome offline_fail(struct cli *cli, struct span refusal);
