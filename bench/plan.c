/* Chooses the next pass: in sequence, uniformly, or a few much more often than the rest.
 *
 * The skewed choice draws a rank from Zipf's law by rejection-inversion (W. Hörmann and G. Derflinger, 1996). It draws under a
 * smooth curve close to the steps of the law, whose inverse is a formula, and rejects the few draws between curve and steps.
 * So it needs no table and no start-up time, however many passes there are.
 *
 * The rank is then spread over the numbers by a stride without a common divisor. Each rank still has one number, but frequent
 * passes are not adjacent, where they would share a few pages and flatter the store. */
#include "bench/plan.h"
#include "schemas/err.h"

#include <math.h>

/* splitmix64: one add and two multiplications, random enough to choose passes. */
static uint64_t random_next(struct plan *plan)
{
	uint64_t z = plan->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static double random_unit(struct plan *plan)
{
	return (double)(random_next(plan) >> 11) * 0x1p-53;
}

/* The curve x^-theta, its integral from 1, and the inverse of that integral. The two series at 0 keep theta = 1 and its
 * neighbourhood exact, where the integral becomes a logarithm. */
static double curve(double theta, double x)
{
	return exp(-theta * log(x));
}

static double curve_integral(double theta, double x)
{
	double t = (1 - theta) * log(x);

	return log(x) * (fabs(t) > 1e-8 ? expm1(t) / t : 1 + t / 2);
}

static double curve_integral_inverse(double theta, double area)
{
	double t = fmax(area * (1 - theta), -1);

	return exp(area * (fabs(t) > 1e-8 ? log1p(t) / t : 1 - t / 2));
}

static uint64_t zipf_rank(struct plan *plan)
{
	const struct plan_zipf *zipf = &plan->zipf;
	double                  theta = plan->choice.theta;

	for (;;) {
		double area = zipf->high + random_unit(plan) * (zipf->low - zipf->high);
		double x = curve_integral_inverse(theta, area);
		double rank = fmin(fmax(floor(x + 0.5), 1), (double)plan->choice.pass_count);

		if (rank - x <= zipf->surely) return (uint64_t)rank - 1;
		if (area >= curve_integral(theta, rank + 0.5) - curve(theta, rank)) return (uint64_t)rank - 1;
	}
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static void zipf_init(struct plan_zipf *zipf, uint64_t pass_count, double theta)
{
	zipf->low = curve_integral(theta, 1.5) - 1;
	zipf->high = curve_integral(theta, (double)pass_count + 0.5);
	zipf->surely = 2 - curve_integral_inverse(theta, curve_integral(theta, 2.5) - curve(theta, 2));
}

/* From a number to the next: without a common divisor, so that each has its turn. */
static uint64_t stride_of(uint64_t pass_count)
{
	uint64_t stride = (uint64_t)((double)pass_count * 0.618) + 1;

	while (common_divisor(stride, pass_count) != 1)
		stride++;
	return stride;
}

void plan_init(struct plan *plan, const struct plan_choice *choice)
{
	uint64_t pass_count = choice->pass_count;

	must(choice->ids == PLAN_SEQUENCE || (pass_count > 0 && pass_count <= PLAN_PASSES_MAX));
	*plan = (struct plan){.choice = *choice, .random = choice->seed};
	if (choice->ids == PLAN_ZIPF || choice->ids == PLAN_TURNS) plan->stride = stride_of(pass_count);
	if (choice->ids == PLAN_ZIPF) zipf_init(&plan->zipf, pass_count, choice->theta);
}

uint64_t plan_next(struct plan *plan)
{
	const struct plan_choice *choice = &plan->choice;
	uint64_t                  turn = plan->drawn++;

	switch (choice->ids) {
	case PLAN_SEQUENCE: return choice->first + turn;
	case PLAN_UNIFORM: return choice->first + ((random_next(plan) >> 32) * choice->pass_count >> 32);
	case PLAN_ZIPF: return choice->first + zipf_rank(plan) * plan->stride % choice->pass_count;
	case PLAN_TURNS:
		return choice->first +
		       (choice->seed + turn) % choice->pass_count * plan->stride % choice->pass_count;
	}
	must(!"a way to choose ids without a rule");
	return 0;
}

uint32_t plan_draw(struct plan *plan, uint32_t count)
{
	return (uint32_t)((random_next(plan) >> 32) * count >> 32);
}
