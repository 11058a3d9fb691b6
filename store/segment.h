#pragma once
#include "schemas/clock.h"
#include "schemas/err.h"
#include "schemas/span.h"
#include "schemas/version.h"
#include "store/progress.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEGMENT_VERSION = 2 };

/* Journal segments: files `<20 digits>.seg` of one fixed size, zeros until written. The first RECORD_ALIGN bytes
 * are the head: magic, version, shard, lineage, number, size, CRC-32C. Numbers begin at 1. The version is that of the
 * records too; the head keeps its form in every version. Errors: ERR_IO. */
struct journal_dir {
	int      fd; /* of the directory */
	uint16_t shard;
	uint8_t  lineage[16];
	uint64_t segment_bytes;
	int64_t
	    quick_sync_us; /* faster syncs are done by the writer itself; 0: SYNC_QUICK_US; below 0: none are */
};

enum { SEGMENT_NAME = 32 };
void segment_name(uint64_t number, char name[SEGMENT_NAME]);
bool segment_number_read(const char *name, uint64_t *number); /* false: not a segment's name */

/* Creates a segment: zeros written at the pace of `progress` (may be NULL), synced, named. The name is durable once
 * the caller has synced the directory. A file of that name must not exist. Errors: ERR_STORAGE_FULL, ERR_IO,
 * ERR_NO_MEMORY, ERR_STOPPED. */
must_check enum err segment_create(const struct journal_dir *dir, uint64_t number, struct progress *progress);

/* Opens one for reading and writing. Errors: ERR_NOT_FOUND; ERR_DAMAGED (head, or size); ERR_NOT_MINE (whole, but of
 * another shard, lineage or number); ERR_UNSUPPORTED (version). */
must_check enum err segment_open(const struct journal_dir *dir, uint64_t number, int *fd, uint64_t *bytes);

/* Is the version of segment `number` known? A head that does not hold has none, and nor has a missing segment: that is
 * for others to judge. Errors: ERR_UNSUPPORTED: `why` is the sentence about it. */
must_check enum err segment_judge_version(const struct journal_dir *dir, uint64_t number,
                                          char why[VERSION_TEXT]);

/* Are these bytes, a whole file, a segment of that number, of any shard and lineage? */
bool segment_head_holds(struct span bytes, uint64_t number);

/* The time of its first record. Errors: ERR_NOT_FOUND (there is none). */
must_check enum err segment_began(const struct journal_dir *dir, uint64_t number, wall_us *at);

must_check enum err segment_delete(const struct journal_dir *dir, uint64_t number);
/* segment_delete() at the pace of `progress`. */
must_check enum err segment_remove(const struct journal_dir *dir, uint64_t number, struct progress *progress);

/* The lowest and highest existing number, and how many there are; all 0 if there is none. Gaps are not checked. */
must_check enum err segment_bounds(const struct journal_dir *dir, uint64_t *first, uint64_t *last,
                                   uint64_t *count);
/* The same without gaps. Errors: also ERR_DAMAGED: there is one. */
must_check enum err segment_range(const struct journal_dir *dir, uint64_t *first, uint64_t *last);
