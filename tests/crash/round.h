#pragma once
#include "tests/crash/judge.h"

/* A round: one trace and the states made from it. Its states have numbers; a state follows from the seed, its
 * number and the trace. Errors: none; failures abort. */
enum { STATES_A_ROUND = 400, PATH_ROOM = 400 };

struct order {
	uint64_t    seed;
	uint64_t    states;     /* how many in all */
	uint64_t    only;       /* only this one; UINT64_MAX: all */
	unsigned    seconds;    /* time limit */
	bool        wants_all;  /* a run of the defaults: too few states fail it */
	unsigned    jobs;       /* processes */
	const char *trace;      /* states of this trace, without work of our own; or NULL */
	bool        is_service; /* it was recorded from a service, in the host's true boot */
	const char *dir;        /* where everything is made; a tmpfs is fastest */
	bool        is_control; /* a violation is expected */
};

/* A job's report, in memory shared with its parent. */
struct state_counts {
	uint64_t states, second;              /* second: after a crash of the recovery */
	uint64_t believed, journal, snapshot; /* the source of the tables */
	uint64_t cut;                         /* an unfinished tail */
};

struct job {
	struct state_counts count;
	uint64_t            number; /* of the current state */
	char                dir[PATH_ROOM], trace[PATH_ROOM + 16];
	char                what[JUDGE_TEXT]; /* the violation; empty: none */
};

/* Makes all states of one round until a violation; `until` is the time limit by CLOCK_MONOTONIC. */
void round_run(const struct order *order, uint64_t round, int64_t until_s, struct job *job);
