/* The counts of a run. See faults.def for what is counted besides success. */
#include "bench/tally.h"
#include "schemas/err.h"

const char *fault_name(enum fault fault)
{
	static const char *const names[FAULT_COUNT] = {
#define T(name, text) [FAULT_##name] = text,
#include "bench/faults.def"
#undef T
	};

	must(fault < FAULT_COUNT);
	return names[fault];
}

uint64_t tally_fault_count(const struct tally *tally)
{
	uint64_t count = 0;

	for (enum fault fault = 0; fault < FAULT_COUNT; fault++)
		count += tally->faults[fault];
	return count;
}

void tally_answer(struct tally *tally, int status, bool is_good, struct answer_times times)
{
	tally->by_status[status]++;
	if (is_good) {
		tally->good_count++;
		histogram_add(&tally->latency_ns, times.meant_ns);
		histogram_add(&tally->sent_ns, times.sent_ns);
	} else {
		tally->faults[FAULT_STATUS]++;
		histogram_add(&tally->refusal_ns, times.sent_ns);
	}
}
