#pragma once
#include "schemas/limits.h"

#include <stdbool.h>

/* The entries that a start finds missing in its data directory and will make. A refused start removes them again.
 * traces_look() comes when the directory's lock is held and before anything else is made; traces_remove() while it is still
 * held and no process that was started is alive, and only if no shard was let change its place. */
struct traces {
	bool looked;
	bool dir, lock; /* the directory itself, and its lock: set by whoever made them */
	bool identity, key, run, server, shards; /* server: the supervisor's socket */
	struct {
		bool dir, lock, journal;
	} shard[SHARDS_MAX];
};

void traces_look(int dir_fd, struct traces *traces);

/* Only what was missing then, and no directory that holds anything. Errors: none: what cannot be removed stays, as after
 * an interrupted making. */
void traces_remove(int dir_fd, const struct traces *traces);
