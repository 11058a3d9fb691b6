#pragma once
#include "tests/crash/judge.h"

/* A round: one trace and the states that are made of it. Its states have numbers; a state follows from the seed, its
 * number and the trace. Errors: none; what it cannot do aborts. */
enum { STATES_A_ROUND = 400, PATH_ROOM = 400 };

struct order {
	uint64_t    seed;
	uint64_t    states;     /* how many in all */
	uint64_t    only;       /* this one alone; UINT64_MAX: all */
	unsigned    seconds;    /* then it is enough */
	unsigned    jobs;       /* processes */
	const char *trace;      /* states of this one, and no work of our own; or NULL */
	bool        is_service; /* it was recorded from a service, in the host's true boot */
	const char *dir;        /* where everything is made; a tmpfs is fastest */
	bool        is_control; /* a violation is what is wanted */
};

/* What a job tells whoever started it, in memory shared with it. */
struct state_counts {
	uint64_t states, second;              /* second: after a crash of the recovery */
	uint64_t believed, journal, snapshot; /* whence the tables came */
	uint64_t cut;                         /* an unfinished tail */
};

struct job {
	struct state_counts count;
	uint64_t            number; /* of the state at hand */
	char                dir[PATH_ROOM], trace[PATH_ROOM + 16];
	char                what[JUDGE_TEXT]; /* violated; empty: nothing */
};

/* All states of one round, until one violates something; `until` is when CLOCK_MONOTONIC says it is enough. */
void round_run(const struct order *order, uint64_t round, int64_t until_s, struct job *job);
