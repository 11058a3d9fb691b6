#pragma once
#include "store/scan.h"
#include "store/shard_dir.h"
#include "store/verify.h"

#include <stdio.h>

/* A verification, for verify.c and verify_journal.c. Errors: as verify_shard(). */
enum { VERIFIED_SNAPSHOTS_MAX = 8 };

struct verifying {
	const struct verify_order *order;
	struct verify_report      *report;
	struct faults             *faults;
	struct journal_dir         dir;
	struct scan                scan;
	uint64_t                   first, last;                       /* segments; 0: none */
	struct position            begin;                             /* before the journal's first record */
	bool                       begun;                             /* it exists */
	struct snapshot            snapshots[VERIFIED_SNAPSHOTS_MAX]; /* newest first */
	unsigned                   snapshot_count;
	struct arena               arena;
	uint64_t                   planned;  /* of the progress, at the end of the current step */
	char                       part[48]; /* being read */
};

/* Names the part that is read from now on; `number` 0: it has none. */
void verify_part(struct verifying *v, const char *name, uint64_t number);

/* Finds the first and the last segment, and gaps between them. */
must_check enum err verify_segments(struct verifying *v);
/* Checks every segment's head and every record, in one chain. Errors: also ERR_UNSUPPORTED: a version is not known, which
 * has been reported; the rest would only be misread. */
must_check enum err verify_journal(struct verifying *v);
/* Can tables or a snapshot at position `at` be continued from this journal? After verify_journal(). */
must_check enum err verify_joined(struct verifying *v, const struct applied *at, const char *what);
