#pragma once
#include "tests/crash/contents.h"
#include "tests/crash/trace.h"

/* What a trace promises. Each record written to a journal follows the one that its chain names, so the
 * records of a directory that crashed several times form a tree. The tables at a record follow from the path
 * to it. Errors: none; failures abort. */
enum { RECORDS_MAX = 1 << 14, PROMISES_MAX = 1 << 12, PROMISE_BYTES = 216 };

struct history_record {
	uint64_t    seq, digest;
	uint32_t    chain;
	unsigned    before;     /* its predecessor; record 0 is the empty store */
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
	bool                  opened;   /* a start has completed */
	bool                  restored; /* it begins with a restored snapshot */
	bool                  broken;   /* the recorded run itself has lost data */
	uint64_t              seen;
	uint16_t              shard; /* of the records */
	uint8_t               lineage[16];
	struct contents      *contents; /* at record `current` */
	unsigned              current;
};

struct history *history_new(void);
void            history_copy(struct history *to, const struct history *from);
void            history_free(struct history **history);

/* Applies one entry. Its bytes are borrowed as long as the history is used. */
void history_see(struct history *history, const struct trace_entry *entry);

/* True if a store may be at its record `seq` with these contents and has kept everything acknowledged.
 * Otherwise `what` says why not. */
bool history_allows(const struct history *history, uint64_t seq, uint64_t digest, char what[200]);
