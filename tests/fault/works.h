#pragma once
#include "tests/fault/inject.h"
#include "tests/unit/support.h"

/* What is tried with one call failing: each runs in a process of its own, on a place prepared for it. */
#define WORKS(X)                                                          \
	X(start_new, "the first start, in an empty place")                \
	X(start_replay, "a start with a journal to replay")               \
	X(start_rebuild, "a start that has to make the tables anew")      \
	X(start_snapshot, "a start from a snapshot")                      \
	X(batches, "deciding, saving, committing, over several segments") \
	X(readers, "reading by another view")                             \
	X(stop, "an orderly stop")                                        \
	X(job_snapshot, "a snapshot of tables that change")               \
	X(job_backup, "a backup of tables that change")                   \
	X(job_verify, "a verification while it serves")
enum work {
#define WORK_ID(name, text) WORK_##name,
	WORKS(WORK_ID)
#undef WORK_ID
	    WORK_COUNT,
};
const char *work_text(enum work work);
bool        work_distrusts(enum work work); /* it begins with tables that are not to be believed */

/* What a process did and knows, in memory that outlives it. Row 1, 2, 3 … are written in this order. */
struct story {
	bool     fired;  /* some call was made to fail */
	bool     opened; /* store_open() said OK */
	enum err err;    /* the first error that the store told, or OK */
	enum err job;    /* what the snapshotter told of its job, or OK */
	bool     half; /* a job left something half-made that counts, or that the next one does not remove */
	bool     silent; /* an error of store_open() that came without a word */
	bool     wrong;  /* a row was read that was never written so */
	bool     stuck;  /* what was decided could not be saved within seconds, and no error was told */
	bool     kept; /* after an error of store_open(), or an orderly end: not everything was given back */
	unsigned decided; /* the newest row applied */
	unsigned durable; /* the newest row that may be told to a client */
	char     what[200];
};

/* Makes the place that `work` begins with. Returns how many rows it holds. */
unsigned work_prepare(enum work work, struct test_dir *test_dir);

/* Does the work there, from row `first` on, with `injection`; everything it learns goes to `story` at once. */
void work_do(enum work work, const struct test_dir *test_dir, const struct injection *injection,
             struct story *story);

/* A start without failures, after `story`: everything durable is there, nothing that was not decided, rows are whole and
 * in order; then it works as ever. false: not so, and story->what says why. */
bool work_judge(const struct test_dir *test_dir, struct story *story);
