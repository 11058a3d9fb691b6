/* Pages by time of update: they equal the result of sorting everything, near the beginning, in the middle and
 * at the end. */
#include "actors/shard/pass/order.h"
#include "tests/unit/support.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MADE = 10000 + 17, WORDS = (MADE + 63) / 64 };

static uint64_t state, bits[WORDS];
static int64_t  updated[WORDS * 64], oldest[WORDS], newest[WORDS];
static uint32_t sorted[MADE], count;

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (updated[x] != updated[y]) return updated[x] < updated[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* `share` of 16 are selected; there are `times` different times. */
static struct selection select_some(unsigned share, unsigned times)
{
	memset(bits, 0, sizeof bits);
	count = 0;
	for (uint32_t i = 0; i < MADE; i++) {
		updated[i] = (int64_t)chance_below(&state, times) - (int64_t)(times / 2);
		if (chance_below(&state, 8) && times > MADE)
			updated[i] = (int64_t)i; /* most are in order of creation */
		if (chance_below(&state, 16) >= share) continue;
		bits[i / 64] |= UINT64_C(1) << i % 64;
		sorted[count++] = i;
	}
	for (uint32_t word = 0; word < WORDS; word++) {
		oldest[word] = INT64_MAX;
		newest[word] = INT64_MIN;
		for (uint32_t i = word * 64; i < MADE && i < word * 64 + 64; i++) {
			oldest[word] = updated[i] < oldest[word] ? updated[i] : oldest[word];
			newest[word] = updated[i] > newest[word] ? updated[i] : newest[word];
		}
	}
	qsort(sorted, count, sizeof *sorted, compare);
	return (struct selection){.all = share == 16,
	                          .bits = bits,
	                          .made = MADE,
	                          .total = count,
	                          .updated = updated,
	                          .oldest = oldest,
	                          .newest = newest};
}

static void page_is_right(const struct selection *selection, uint64_t skip, uint64_t limit, bool ascending)
{
	struct page    page = {.order = ORDER_UPDATED, .ascending = ascending, .skip = skip, .limit = limit};
	struct request request = {.now = {0}};
	uint64_t       want = skip >= count ? 0 : count - skip < limit ? count - skip : limit;
	cr_assert_eq(order_page(&request, selection, &page), OK);
	cr_assert_eq(page.count, want, "from %lu of %u", (unsigned long)skip, count);
	for (uint32_t i = 0; i < page.count; i++)
		cr_assert_eq(page.numbers[i], sorted[ascending ? skip + i : count - 1 - skip - i],
		             "place %lu of %u", (unsigned long)(skip + i), count);
}

Test(order, by_update_equals_sorting)
{
	static const unsigned times[] = {1, 2, 60, 5000, 1u << 30}, shares[] = {16, 15, 8, 1};
	static const uint64_t skips[] = {0,    1,    24,   100,  998,  999,   1000,
	                                 1023, 1024, 1025, 5000, 9990, 10016, 20000};
	state = chance_begin();
	for (unsigned i = 0; i < 5; i++)
		for (unsigned k = 0; k < 4; k++) {
			struct selection selection = select_some(shares[k], times[i]);
			for (unsigned n = 0; n < sizeof skips / sizeof *skips; n++)
				for (unsigned way = 0; way < 2; way++) {
					page_is_right(&selection, skips[n], 25, way);
					page_is_right(&selection, skips[n], PAGE_LIMIT_MAX, way);
					page_is_right(&selection, skips[n], 1, way);
				}
		}
}
