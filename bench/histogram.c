/* A histogram of latencies with a bounded relative error and a fixed size, after HdrHistogram.
 *
 * Values below 256 have a slot each. Above, every doubling [2^n, 2^(n+1)) is divided into 128 slots of equal width. So a slot
 * is never wider than 1/128 of its values, and its middle is at most 1/256 away from any of them. Adding is a shift and an
 * increment: it costs the same for every latency, and slow answers are kept as exactly as fast ones. */
#include "bench/histogram.h"
#include "schemas/err.h"

#include <string.h>

#define PPM UINT64_C(1000000)

static uint32_t slot_of(uint64_t value)
{
	uint32_t shift = 0;

	if (value >> HISTOGRAM_VALUE_BITS) return HISTOGRAM_SLOTS - 1;
	if (value >= HISTOGRAM_STEPS) shift = 63 - HISTOGRAM_STEP_BITS - (uint32_t)__builtin_clzll(value);
	return shift * HISTOGRAM_STEPS + (uint32_t)(value >> shift);
}

static uint64_t middle_of(uint32_t slot)
{
	uint32_t shift = slot < HISTOGRAM_STEPS ? 0 : slot / HISTOGRAM_STEPS - 1;
	uint64_t first = (uint64_t)(slot - shift * HISTOGRAM_STEPS) << shift;

	return first + (UINT64_C(1) << shift) / 2;
}

void histogram_clear(struct histogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram->count++;
	if (value > histogram->max) histogram->max = value;
	histogram->seen[slot_of(value)]++;
}

uint64_t histogram_quantile(const struct histogram *histogram, uint32_t share_ppm)
{
	uint64_t rank = (histogram->count * share_ppm + PPM - 1) / PPM;
	uint64_t passed = 0;

	must(share_ppm > 0 && share_ppm <= PPM);
	if (histogram->count == 0) return 0;
	if (rank == histogram->count) return histogram->max;
	for (uint32_t slot = 0; slot < HISTOGRAM_SLOTS; slot++) {
		uint64_t middle = middle_of(slot);

		passed += histogram->seen[slot];
		if (passed >= rank) return middle < histogram->max ? middle : histogram->max;
	}
	return histogram->max;
}
