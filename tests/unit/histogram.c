/* schemas/histogram.h: every value is counted in one bucket, and the sums are right. */
#include "schemas/histogram.h"

#include <criterion/criterion.h>

Test(histogram, a_bound_belongs_to_its_own_bucket)
{
	const struct scale *const scales[] = {&scale_us, &scale_items};
	for (unsigned s = 0; s < 2; s++)
		for (unsigned i = 0; i < SCALE_BOUNDS; i++) {
			struct histogram      histogram = {.sum = 0};
			struct histogram_copy copy = {.sum = 0};
			int64_t               bound = scales[s]->bounds[i];
			cr_assert(i == 0 || bound > scales[s]->bounds[i - 1]);
			histogram_add(&histogram, scales[s], bound);
			histogram_add(&histogram, scales[s], bound + 1);
			histogram_sum(&histogram, &copy);
			cr_expect(copy.counts[i] >= 1 && copy.counts[i + 1] <= 1, "%u", i);
			cr_expect_eq(copy.counts[i] + copy.counts[i + 1], 2, "%u", i);
			cr_expect_eq(copy.sum, (uint64_t)(2 * bound + 1));
		}
}

Test(histogram, every_value_is_counted)
{
	struct histogram      histogram = {.sum = 0};
	struct histogram_copy copy = {.sum = 5};
	histogram_add(&histogram, &scale_us, -7);
	histogram_add(&histogram, &scale_us, 0);
	histogram_add(&histogram, &scale_us, INT64_MAX / 2);
	histogram_sum(&histogram, &copy);
	histogram_sum(&histogram, &copy);
	cr_expect_eq(copy.counts[0], 4);
	cr_expect_eq(copy.counts[SCALE_BOUNDS], 2);
	cr_expect_eq(copy.sum, 5 + 2 * (uint64_t)(INT64_MAX / 2));
}
