#pragma once
#include "tests/fault/inject.h"
#include "tests/unit/support.h"

/* The works that run with one failing call. Each runs in its own process, on a directory prepared for it. */
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
bool        work_distrusts(enum work work); /* it begins with untrusted tables */

/* What a process did and observed, in memory that outlives it. Rows 1, 2, 3 … are written in this order. */
struct story {
	bool     fired;  /* a call failed */
	bool     opened; /* store_open() returned OK */
	enum err err;    /* the first error that the store reported, or OK */
	enum err job;    /* the snapshotter's result of its job, or OK */
	bool half; /* a job left a partial result that looks complete, or that the next job does not remove */
	bool silent;      /* store_open() failed without a message */
	bool wrong;       /* a row was read that was never written so */
	bool stuck;       /* decided rows could not be saved within seconds, and no error was reported */
	bool kept;        /* after an error of store_open() or a clean end: not everything was released */
	unsigned decided; /* the newest row applied */
	unsigned durable; /* the newest row that a client may have been answered */
	char     what[200];
};

/* Creates the directory with which `work` begins. Returns the number of its rows. */
unsigned work_prepare(enum work work, struct test_dir *test_dir);

/* Runs the work there from row `first` on, with `injection`. Everything that it observes is stored in `story`
 * at once. */
void work_do(enum work work, const struct test_dir *test_dir, const struct injection *injection,
             struct story *story);

/* A start without failures, after `story`: everything durable is present, nothing that was not decided, and
 * rows are complete and in order; then the store works normally. Returns false and sets story->what
 * otherwise. */
bool work_judge(const struct test_dir *test_dir, struct story *story);
