#pragma once
#include "ops/cli/cli.h"
#include "ops/cli/progress.h"

/* Work on the files of an offline shard, done by this program in a separate process: damaged tables may kill that process, but
 * not the command. */
struct offline {
	const char *role; /* check, restore, dump */
	uint32_t    index;
	const char *data;
	const char *from, *lineage, *table; /* NULL: not given */
	bool        prints; /* to our standard output; its outcome, if any, comes on its standard error */
};

/* Runs it to its end. *outcome gets the JSON object that it printed last; `done`: that is its result, and not
 * {"code","message"}. Errors: ERR_IO (it could not be run), ERR_UNSUPPORTED (likewise: OFFLINE_NOT_RUN has the cause),
 * ERR_PEER_GONE (killed by *signal; 0: it ended without an outcome), ERR_NO_MEMORY. */
must_check enum err offline_run(const struct offline *work, struct bar *bar, struct buffer *outcome,
                                bool *done, int *signal);

#define OFFLINE_NOT_RUN                                                                                      \
	"The process that reads the files cannot be started from /proc/self/exe: is /proc mounted, and may " \
	"this "                                                                                              \
	"program be executed again?"

/* FAILED, with the {"code","message"} of its outcome. */
enum outcome offline_fail(struct cli *cli, struct span refusal);
