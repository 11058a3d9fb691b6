/* Histograms with fixed buckets. Negative values count as 0. */
#include "schemas/histogram.h"

const struct scale scale_us = {
    {50, 100, 250, 500, 1000, 2000, 3000, 5000, 7500, 10000, 25000, 50000, 100000, 250000, 1000000, 10000000},
    1e6};
const struct scale scale_items = {{1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048}, 1};

static void add(_Atomic uint64_t *counter, uint64_t more)
{
	uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
	atomic_store_explicit(counter, now + more, memory_order_relaxed);
}

void histogram_add(struct histogram *histogram, const struct scale *scale, int64_t value)
{
	unsigned bucket = 0;
	while (bucket < SCALE_BOUNDS && value > scale->bounds[bucket])
		bucket++;
	add(&histogram->counts[bucket], 1);
	add(&histogram->sum, value > 0 ? (uint64_t)value : 0);
}

void histogram_sum(const struct histogram *histogram, struct histogram_copy *to)
{
	for (unsigned i = 0; i <= SCALE_BOUNDS; i++)
		to->counts[i] += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
	to->sum += atomic_load_explicit(&histogram->sum, memory_order_relaxed);
}
