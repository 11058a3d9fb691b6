#pragma once
#include "ops/cli/cli.h"
#include "ops/cli/progress.h"

/* A job for the snapshotter of every shard of a running service: asked of all at once, and waited for until the last has
 * ended, so that nothing of it is still going on when the command goes on. */
struct keep_order {
	const char *what;        /* of the message MAINTENANCE_START */
	const char *dir, *place; /* NULL: none; place: which directory that is, backup_place_text() */
	struct bar *bar;
	/* Gets each shard's MAINTENANCE_STATUS once its job has ended; `err` is its outcome. What it points to lives until it returns. */
	void (*on_end)(void *user, uint32_t shard, enum err err, const msgpack_object *state);
	void *user;
};

/* The service must be open. Failures of the conversation are the command's; a job's own go to `on_end` alone. */
enum outcome cli_keep(struct cli *cli, const struct keep_order *order);

/* The number in a map; 0 when it is not there. */
uint64_t cli_number(const msgpack_object *map, const char *key);
