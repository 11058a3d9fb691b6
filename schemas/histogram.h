#pragma once
#include <stdatomic.h>
#include <stdint.h>

/* Counts of values by size, for the metrics. A histogram has one writer, so that counting is a few loads and stores
 * without a lock or a locked instruction; readers may see each number a little late. Zeroed is empty. Errors: none. */
enum { SCALE_BOUNDS = 16 };

/* Upper bounds of the buckets, inclusive; one more bucket is above the last. Shown values are divided by `unit`. */
struct scale {
	int64_t bounds[SCALE_BOUNDS];
	double  unit;
};
extern const struct scale scale_us;    /* 50 us to 10 s, shown in seconds */
extern const struct scale scale_items; /* 1 to 2048, shown unchanged */

struct histogram {
	_Atomic uint64_t counts[SCALE_BOUNDS + 1];
	_Atomic uint64_t sum;
};

/* A copy of a histogram: to sum up, and as it travels. */
struct histogram_copy {
	uint64_t counts[SCALE_BOUNDS + 1];
	uint64_t sum;
};

void histogram_add(struct histogram *histogram, const struct scale *scale, int64_t value);

/* Adds the counts of `histogram` to `to`. */
void histogram_sum(const struct histogram *histogram, struct histogram_copy *to);
