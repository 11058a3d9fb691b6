#pragma once
#include "ops/cli/cli.h"
#include "ops/cli/progress.h"

/* A job for the snapshotters of all shards of a running service. It is started on all at once, and the command continues only
 * after the last has ended. */
struct maintenance_order {
	const char *what;        /* of the message MAINTENANCE_START */
	const char *dir, *place; /* NULL: none; place: which directory that is, backup_place_text() */
	struct bar *bar;
	/* Gets each shard's MAINTENANCE_STATUS once its job has ended; `err` is its outcome. What it points to
	 * lives until the callback returns. */
	void (*on_end)(void *user, uint32_t shard, enum err err, const msgpack_object *state);
	void *user;
};

/* The service must be open. Failures of communication are the command's; those of a job only go to `on_end`. */
enum outcome cli_maintain(struct cli *cli, const struct maintenance_order *order);

/* The command fails as the shard's job did: by `err`, which on_end() got with `state`. */
void cli_job_failed(struct cli *cli, uint32_t shard, enum err err, const msgpack_object *state);

/* The number in a map; 0: missing. */
uint64_t cli_number(const msgpack_object *map, const char *key);
