/* The lineages of a data directory: their order, their text form, and the limit. */
#include "schemas/lineages.h"

#include <criterion/criterion.h>

static const uint8_t *nth(uint8_t n)
{
	static uint8_t lineage[LINEAGE_BYTES];
	memset(lineage, 0xab, sizeof lineage);
	lineage[0] = n;
	return lineage;
}

Test(lineages, keep_their_order_and_drop_the_oldest)
{
	struct lineages lineages = {0};
	for (uint8_t i = 1; i <= LINEAGES_MAX + 3; i++)
		lineages_add(&lineages, nth(i));
	cr_assert_eq(lineages.count, LINEAGES_MAX);
	for (uint8_t i = 0; i < LINEAGES_MAX; i++)
		cr_expect(!memcmp(lineages.of[i], nth((uint8_t)(i + 4)), LINEAGE_BYTES), "%u", i);
}

static void expect_same(const struct lineages *lineages)
{
	struct buffer   text = {0};
	struct lineages got = {.count = 9};
	lines_lineages(&text, "name", lineages);
	struct lines lines = {.left = buffer_span(&text)};
	lines_take_lineages(&lines, "name", &got);
	cr_expect_eq(lines_finish(&lines), OK);
	cr_expect_eq(got.count, lineages->count);
	cr_expect_eq(memcmp(got.of, lineages->of, lineages->count * sizeof lineages->of[0]), 0);
	buffer_free(&text);
}

Test(lineages, are_read_as_they_were_written)
{
	struct lineages lineages = {0};
	expect_same(&lineages);
	for (uint8_t i = 0; i < LINEAGES_MAX; i++) {
		lineages_add(&lineages, nth(i));
		expect_same(&lineages);
	}
}

Test(lineages, more_than_the_limit_are_refused)
{
	struct buffer   text = {0};
	struct lineages got;
	buffer_text(&text, "name=");
	for (unsigned i = 0; i < (LINEAGES_MAX + 1) * 2 * LINEAGE_BYTES; i++)
		buffer_byte(&text, '0');
	buffer_byte(&text, '\n');
	struct lines lines = {.left = buffer_span(&text)};
	lines_take_lineages(&lines, "name", &got);
	cr_expect_eq(lines_finish(&lines), ERR_DAMAGED);
	cr_expect_eq(got.count, 0);
	buffer_free(&text);
}
