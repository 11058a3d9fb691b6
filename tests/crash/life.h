#pragma once
#include "store/store.h"

/* One life of a store at work: opened, used as a shard uses it, ended in one way or another. What it does follows from
 * its seed and from what it finds. It tells the recorder what it would have told its clients. */
struct setting {
	uint16_t shard;
	uint8_t  lineage[16];
	uint64_t segment_bytes, map_bytes;
};

/* What a place may be before a start has been completed in it: nothing yet, or a restored snapshot alone. */
enum beginning { BEGUN, BEGINS_EMPTY, BEGINS_RESTORED };

struct shard_dir setting_place(const struct setting *setting, int dir_fd, enum beginning beginning);

/* How it ends, unless the recorder ends it before. */
enum life_end { LIFE_DROPPED, LIFE_CLOSED };

struct life_order {
	const char           *path;
	const struct setting *setting;
	uint64_t              seed;
	unsigned              records; /* how many it makes */
	enum beginning        beginning;
	enum life_end         end;
	bool                  snapshot; /* it makes one at its end */
};

/* Errors: those of store_open(), in *what. Everything else that fails aborts. */
must_check enum err life_run(const struct life_order *order, char what[160]);

/* Puts the newest snapshot of the closed place `from`, which has one, into the empty place `to`, as a restore does. */
void life_restore(const char *from, const char *to, const struct setting *setting);
