#pragma once
#include "schemas/limits.h"

#include <stdbool.h>

/* Entries that a start finds missing in its data directory and will create. A refused start removes them again. Call
 * traces_look() with the directory's lock held, before anything else is created. Call traces_remove() while it is still held
 * and no started process is alive, and only if no shard was allowed to change its directory. */
struct traces {
	bool looked;
	bool dir, lock; /* the directory itself, and its lock: set by their creator */
	bool identity, key, run, server, shards; /* server: the supervisor's socket */
	struct {
		bool dir, lock, journal;
	} shard[SHARDS_MAX];
};

void traces_look(int dir_fd, struct traces *traces);

/* Removes only what was missing then, and no directory with content. Errors: none: what cannot be removed stays, as after an
 * interrupted creation. */
void traces_remove(int dir_fd, const struct traces *traces);
