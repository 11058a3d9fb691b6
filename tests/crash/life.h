#pragma once
#include "store/store.h"

/* One life of a store: it is opened, used like a shard uses it, and ended in one of several ways. The life
 * follows from its seed and from what it finds. It marks in the trace what it would have answered to
 * clients. */
enum { MEMORY_BLOCKS = 1 }; /* a life has up to six: they go and come back all the time */
struct setting {
	uint16_t shard;
	uint8_t  lineage[16];
	uint64_t segment_bytes, map_bytes;
	uint64_t round_bytes;   /* of late tables; 0: the least that a life has */
	unsigned memory_blocks; /* of late tables; 0: any number */
};

/* The directory before a start has completed in it: empty, or only a restored snapshot. */
enum beginning { BEGUN, BEGINS_EMPTY, BEGINS_RESTORED };

struct shard_dir setting_place(const struct setting *setting, int dir_fd, enum beginning beginning);

/* How it ends, unless the recorder ends it before. */
enum life_end { LIFE_DROPPED, LIFE_CLOSED };

struct life_order {
	const char           *path;
	const struct setting *setting;
	uint64_t              seed;
	unsigned              records; /* the number of snapshots that it makes */
	enum beginning        beginning;
	enum life_end         end;
	bool                  snapshot; /* it makes one at its end */
};

/* Errors: those of store_open(), in *what. Every other failure aborts. */
must_check enum err life_run(const struct life_order *order, char what[160]);

/* Puts the newest snapshot of the closed directory `from`, which must have one, into the empty directory
 * `to`, like a restore. */
void life_restore(const char *from, const char *to, const struct setting *setting);
