#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Which pass the next request is about. Pure: the same seed gives the same numbers. Units: numbers of passes, [first, first +
 * pass_count). Errors: none. */
enum plan_ids {
	PLAN_SEQUENCE,
	PLAN_UNIFORM,
	PLAN_ZIPF,
	PLAN_TURNS, /* each once, in a scattered order; then the same again */
};

#define PLAN_PASSES_MAX UINT32_MAX /* passes; chosen by 32 random bits; the options refuse more */

struct plan_zipf { /* constants of the sampler, see plan.c */
	double low, high, surely;
};

struct plan_choice {
	enum plan_ids ids;
	uint64_t      first;
	uint64_t      pass_count; /* 1 to PLAN_PASSES_MAX; a sequence ignores it and never ends */
	double        theta;      /* > 0; for PLAN_ZIPF: the n-th most frequent is chosen like 1 / n^theta */
	uint64_t      seed;
};

struct plan {
	struct plan_choice choice;
	uint64_t           random; /* state of the generator */
	uint64_t           drawn;  /* requests planned so far */
	uint64_t           stride; /* of PLAN_ZIPF and PLAN_TURNS */
	struct plan_zipf   zipf;
};

void plan_init(struct plan *plan, const struct plan_choice *choice);

uint64_t plan_next(struct plan *plan);

/* One of `count` things, uniformly, from the same random sequence. */
uint32_t plan_draw(struct plan *plan, uint32_t count);
