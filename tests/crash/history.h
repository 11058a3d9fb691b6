#pragma once
#include "tests/crash/contents.h"
#include "tests/crash/trace.h"

/* What a trace promises. Each record that was written into a journal stands on the one its chain names, so the
 * records of a place that crashed now and then form a tree; what the tables must be at each follows from the way to it.
 * Errors: none; what it cannot do aborts. */
enum { RECORDS_MAX = 1 << 14, PROMISES_MAX = 1 << 12, PROMISE_BYTES = 216 };

struct history_record {
	uint64_t    seq, digest;
	uint32_t    chain;
	unsigned    before;     /* the record it stands on; record 0 is the empty store */
	uint64_t    seen;       /* when it was written last */
	struct span operations; /* borrowed from the trace */
};

struct promise {
	int64_t balance;
	size_t  size;
	uint8_t whose[PROMISE_BYTES]; /* account id as text | pass id */
};

struct history {
	struct history_record records[RECORDS_MAX];
	struct promise        promises[PROMISES_MAX];
	unsigned              count, promise_count;
	unsigned              told;     /* the newest record that may not be lost */
	bool                  opened;   /* a start has been completed */
	bool                  restored; /* it begins with a snapshot that was put there */
	bool                  broken;   /* the run that was recorded has itself lost something */
	uint64_t              seen;
	uint16_t              shard; /* of the records */
	uint8_t               lineage[16];
	struct contents      *contents; /* at record `current` */
	unsigned              current;
};

struct history *history_new(void);
void            history_copy(struct history *to, const struct history *from);
void            history_free(struct history **history);

/* Moves on by one entry; its bytes are borrowed for as long as the history is used. */
void history_see(struct history *history, const struct trace_entry *entry);

/* May a store stand behind its record `seq` with these contents, having kept what was told? Otherwise `what` says why
 * not. */
bool history_allows(const struct history *history, uint64_t seq, uint64_t digest, char what[200]);
