#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "bench/clock.h"
#include "bench/histogram.h"

/* Outcomes of requests. Each request that was due has exactly one: success, or one row of faults.def. Units: requests; latency
 * in ns, of successes only, from when the request was due. Errors: none. */
enum fault {
#define T(name, text) FAULT_##name,
#include "bench/faults.def"
#undef T
	FAULT_COUNT
};

enum { STATUS_END = 600 };

struct tally {
	uint64_t         good_count;
	uint64_t         faults[FAULT_COUNT];
	uint64_t         by_status[STATUS_END];
	struct histogram latency_ns;
	struct histogram sent_ns;    /* of successes too, but from when the request was sent */
	struct histogram refusal_ns; /* likewise, of answers that are no successes */
};

const char *fault_name(enum fault fault);
uint64_t    tally_fault_count(const struct tally *tally);

/* Times of an answer, ns: since its request was due, and since it was sent. */
struct answer_times {
	uint64_t meant_ns, sent_ns;
};

void tally_answer(struct tally *tally, int status, bool is_good, struct answer_times times);
